/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_arithmetic.h"
#include "tg_native_planes.h"

#if TG_NATIVE_DSP

/* assembly in columns */
/* clang-format off */

/*
 * r0        input                   r1        plane                  r2   positions of the line that are left, less 8
 * r3, r4    one and three steps     r5        positions              r6   lines that are left
 * r7, r12   line_skip, plane_skip   r8 - r11  values
 */

#define FOUR_VALUES                                                                                                    \
    "ldrsb  r8,  [r0]                       \n"                                                                        \
    "ldrsb  r9,  [r0, r3]                   \n"                                                                        \
    "ldrsb  r10, [r0, r3, lsl #1]           \n"                                                                        \
    "ldrsb  r11, [r0, r4]                   \n"                                                                        \
    "add    r0, r0, r3, lsl #2              \n"                                                                        \
    "strh   r8,  [r1], #2                   \n"                                                                        \
    "strh   r9,  [r1], #2                   \n"                                                                        \
    "strh   r10, [r1], #2                   \n"                                                                        \
    "strh   r11, [r1], #2                   \n"

TG_NAKED void tg_native_gather(const int8_t *input __attribute__((unused)), int16_t *plane __attribute__((unused)),
    const struct tg_native_gather *shape __attribute__((unused)))
{
    __asm volatile(
        "push   {r4-r11, lr}                    \n"
        "ldrd   r3, r5, [r2]                    \n"
        "ldrd   r6, r7, [r2, #8]                \n"
        "ldr    r12, [r2, #16]                  \n"
        "add    r4, r3, r3, lsl #1              \n"
        "1:                                     \n" /* a line */
        "subs   r2, r5, #8                      \n"
        "blt    3f                              \n"
        "2:                                     \n" FOUR_VALUES FOUR_VALUES "subs   r2, #8                          \n"
        "bge    2b                              \n"
        "3:                                     \n"
        "adds   r2, #4                          \n"
        "blt    4f                              \n" FOUR_VALUES "sub    r2, #4                          \n"
        "4:                                     \n"
        "adds   r2, #3                          \n" /* up to 3 are left: one less */
        "blt    6f                              \n"
        "5:                                     \n"
        "ldrsb  r8, [r0]                        \n"
        "add    r0, r3                          \n"
        "strh   r8, [r1], #2                    \n"
        "subs   r2, #1                          \n"
        "bge    5b                              \n"
        "6:                                     \n"
        "add    r0, r7                          \n"
        "add    r1, r12                         \n"
        "subs   r6, #1                          \n"
        "bne    1b                              \n"
        "pop    {r4-r11, pc}                    \n");
}

/* clang-format on */

#else

void tg_native_gather(const int8_t *input, int16_t *plane, const struct tg_native_gather *shape)
{
#if TG_NATIVE_RV32
    const int32_t step = shape->position_step;
#endif

    for (int32_t line = 0; line < shape->lines; line++) {
        int32_t i = 0;
#if TG_NATIVE_RV32
        for (; i < shape->positions - 3; i += 4, plane += 4) { /* no load takes an index */
            plane[0] = *input;
            input += step;
            plane[1] = *input;
            input += step;
            plane[2] = *input;
            input += step;
            plane[3] = *input;
            input += step;
        }
#endif
        for (; i < shape->positions; i++) {
            *plane++ = *input;
            input += shape->position_step;
        }
        input += shape->line_skip;
        plane += shape->plane_skip / 2;
    }
}

#endif
