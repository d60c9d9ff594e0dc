/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of both variants of tg_native_multiply_runs: as assembly and, for cores without the DSP extension, in C.
 */
#ifndef TG_NATIVE_MULTIPLY_RUNS_BODY_H
#define TG_NATIVE_MULTIPLY_RUNS_BODY_H

#include "tg_native_gemv_body.h"
#include "tg_native_runs.h"

#if TG_NATIVE_DSP

/* assembly in columns */
/* clang-format off */

/*
 * r0        stream                     r1        run
 * r2 - r9   sums of 8 channels         r10, r11  two elements each
 * r12, lr   weights, as in tg_native_gemv_body.h
 *
 * Frame: [sp] next offset, [sp, 4] end of the offsets, [sp, 8] the only run, 0 where there are several,
 *        [sp, 12] end of the part of a run that is a multiple of 16 elements, [sp, 16] end of all of it,
 *        [sp, 20] output, [sp, 24] end of the outputs, [sp, 28] runs
 */

#define TG_RUNS_VALUES                                                                                                 \
    "ldr    r10, [r1], #4                    \n"                                                                       \
    "sxtb16 r11, r10, ror #8                \n"                                                                        \
    "sxtb16 r10, r10                         \n"

/* 43 instructions for 32 multiplications. */
#define TG_RUNS_4                                                                                                      \
    TG_RUNS_VALUES TG_GEMV_UNIT("r2") TG_GEMV_UNIT("r3") TG_GEMV_UNIT("r4") TG_GEMV_UNIT("r5")                         \
    TG_GEMV_UNIT("r6") TG_GEMV_UNIT("r7") TG_GEMV_UNIT("r8") TG_GEMV_UNIT("r9")

/* 31 instructions. */
#define TG_RUNS_JOINED_4                                                                                               \
    TG_RUNS_VALUES                                                                                                     \
    TG_GEMV_PAIR("r2", "r3") TG_GEMV_PAIR("r4", "r5") TG_GEMV_PAIR("r6", "r7") TG_GEMV_PAIR("r8", "r9")

#define TG_RUNS_ASSEMBLY(name, FOUR, OUTPUTS)                                                                          \
    TG_NAKED void name(const int32_t *stream __attribute__((unused)),                                                  \
        const struct tg_native_runs *runs __attribute__((unused)), int32_t groups __attribute__((unused)),             \
        int8_t *output __attribute__((unused)))                                                                        \
    {                                                                                                                  \
        __asm volatile(                                                                                                \
            "push   {r4-r11, lr}                     \n"                                                               \
            "sub    sp, #32                          \n"                                                               \
            "add    r4, r3, r2, lsl #3               \n"                                                               \
            "strd   r3, r4, [sp, #20]                \n"                                                               \
            "str    r1, [sp, #28]                    \n"                                                               \
            "ldrd   r4, r5, [r1, #8]                 \n" /* offsets, how many */                                       \
            "add    r5, r4, r5, lsl #2               \n"                                                               \
            "strd   r5, r5, [sp]                     \n" /* none is left of those of an only run */                    \
            "ldr    r10, [r1]                        \n"                                                               \
            "ldr    r12, [r1, #16]                   \n"                                                               \
            "lsr    r11, r12, #2                     \n"                                                               \
            "add    r11, r10, r11, lsl #4            \n"                                                               \
            "add    r12, r10, r12, lsl #2            \n"                                                               \
            "strd   r11, r12, [sp, #12]              \n"                                                               \
            "cmp    r4, #0                           \n"                                                               \
            "it     ne                               \n"                                                               \
            "movne  r10, #0                          \n"                                                               \
            "str    r10, [sp, #8]                    \n"                                                               \
            "1:                                      \n" /* a group of channels */                                     \
            "ldm    r0!, {r2-r9}                     \n"                                                               \
            "ldrd   r1, r10, [sp, #8]                \n"                                                               \
            "cbnz   r1, 7f                           \n"                                                               \
            "ldr    r12, [sp, #28]                   \n"                                                               \
            "ldr    r12, [r12, #8]                   \n"                                                               \
            "6:                                      \n" /* one run of several */                                      \
            "ldr    r1, [r12], #4                    \n"                                                               \
            "str    r12, [sp]                        \n"                                                               \
            "ldr    r12, [sp, #28]                   \n"                                                               \
            "ldrd   r10, r11, [r12]                  \n"                                                               \
            "cmp    r1, #0                           \n"                                                               \
            "ite    ge                               \n"                                                               \
            "addge  r1, r10                          \n"                                                               \
            "movlt  r1, r11                          \n"                                                               \
            "ldr    r12, [r12, #16]                  \n"                                                               \
            "lsr    r10, r12, #2                     \n"                                                               \
            "add    r10, r1, r10, lsl #4             \n"                                                               \
            "add    r11, r1, r12, lsl #2             \n"                                                               \
            "strd   r10, r11, [sp, #12]              \n"                                                               \
            "7:                                      \n"                                                               \
            "cmp    r1, r10                          \n"                                                               \
            "beq    3f                               \n"                                                               \
            "2:                                      \n" /* 16 elements */                                             \
            FOUR FOUR FOUR FOUR                                                                                        \
            "ldr    r12, [sp, #12]                   \n"                                                               \
            "cmp    r1, r12                          \n"                                                               \
            "bne    2b                               \n"                                                               \
            "3:                                      \n"                                                               \
            "ldr    r12, [sp, #16]                   \n"                                                               \
            "cmp    r1, r12                          \n"                                                               \
            "beq    5f                               \n"                                                               \
            "4:                                      \n" /* 4 of the rest */                                           \
            FOUR                                                                                                       \
            "ldr    r12, [sp, #16]                   \n"                                                               \
            "cmp    r1, r12                          \n"                                                               \
            "bne    4b                               \n"                                                               \
            "5:                                      \n"                                                               \
            "ldrd   r12, lr, [sp]                    \n"                                                               \
            "cmp    r12, lr                          \n"                                                               \
            "bne    6b                               \n"                                                               \
            "ldr    lr, [sp, #20]                    \n"                                                               \
            OUTPUTS                                                                                                    \
            "str    lr, [sp, #20]                    \n"                                                               \
            "ldr    r12, [sp, #24]                   \n"                                                               \
            "cmp    lr, r12                          \n"                                                               \
            "bne    1b                               \n"                                                               \
            "add    sp, #32                          \n"                                                               \
            "pop    {r4-r11, pc}                     \n");                                                             \
    }

#define TG_RUNS_FUNCTION(name) TG_RUNS_ASSEMBLY(name, TG_RUNS_4, TG_GEMV_OUTPUTS)
#define TG_RUNS_JOINED_FUNCTION(name) TG_RUNS_ASSEMBLY(name, TG_RUNS_JOINED_4, TG_GEMV_JOINED_OUTPUTS)

/* clang-format on */

#else

/* What two channels of a group read of the stream. */
struct tg_two_channels {
    const int8_t *weights;
    const int32_t *scale;
    uint32_t sums[2];
};

static inline const int8_t *tg_run_at(const struct tg_native_runs *runs, int32_t index)
{
    const int32_t offset = runs->offsets != NULL ? runs->offsets[index] : 0;
    return offset < 0 ? runs->padding : runs->input + offset;
}

static inline void tg_run_two(struct tg_two_channels *two, const int8_t *run, int32_t quads)
{
    for (; quads > 0; quads--, run += 4, two->weights += 4 * TG_NATIVE_UNITS) {
        for (int32_t i = 0; i < 4; i++) {
            two->sums[0] = tg_mac(two->weights[i], run[i], two->sums[0]);
            two->sums[1] = tg_mac(two->weights[4 + i], run[i], two->sums[1]);
        }
    }
}

/* The same with joined weights: sums[1] are 256 sums of the second channel and one of the first. */
static inline void tg_run_joined_two(struct tg_two_channels *two, const int8_t *run, int32_t quads)
{
    static const int8_t element[4] = {0, 2, 1, 3}; /* in the order of the stream */

    for (; quads > 0; quads--, run += 4, two->weights += 4 * TG_NATIVE_UNITS) {
        for (int32_t i = 0; i < 4; i++) {
            const int32_t pair = tg_half(two->weights, i);
            const int32_t x = run[element[i]];
            two->sums[0] = tg_mac((int8_t)(uint8_t)pair, x, two->sums[0]);
            two->sums[1] = tg_mac(pair, x, two->sums[1]);
        }
    }
}

static inline void tg_run_part_none(struct tg_two_channels *two)
{
    (void)two;
}

static inline void tg_run_part(struct tg_two_channels *two)
{
    two->sums[1] = tg_parted(two->sums[1], two->sums[0]);
}

#define TG_RUNS_C(name, TWO, PART)                                                                                     \
    void name(const int32_t *stream, const struct tg_native_runs *runs, int32_t groups, int8_t *output)                \
    {                                                                                                                  \
        const int32_t quads = runs->count * runs->quads;                                                               \
        for (; groups > 0; groups--, stream += tg_native_group_words(quads)) {                                         \
            const int32_t *const scales = stream + TG_NATIVE_UNITS * (quads + 1);                                      \
            for (int32_t unit = 0; unit < TG_NATIVE_UNITS; unit += 2, output += 2) {                                   \
                struct tg_two_channels two = {(const int8_t *)(stream + TG_NATIVE_UNITS + unit), scales + 3 * unit,    \
                    {(uint32_t)stream[unit], (uint32_t)stream[unit + 1]}};                                             \
                for (int32_t run = 0; run < runs->count; run++) {                                                      \
                    TWO(&two, tg_run_at(runs, run), runs->quads);                                                      \
                }                                                                                                      \
                PART(&two);                                                                                            \
                output[0] = tg_rounded(tg_doubled((int32_t)two.sums[0]), two.scale);                                   \
                output[1] = tg_rounded(tg_doubled((int32_t)two.sums[1]), two.scale + 3);                               \
            }                                                                                                          \
        }                                                                                                              \
    }

#define TG_RUNS_FUNCTION(name) TG_RUNS_C(name, tg_run_two, tg_run_part_none)
#define TG_RUNS_JOINED_FUNCTION(name) TG_RUNS_C(name, tg_run_joined_two, tg_run_part)

#endif

#endif
