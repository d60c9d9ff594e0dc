/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * F(4x4,3x3): 36 multiplications for 16 outputs. Weights are transformed by multiples of G, 24 times or, in the last
 * row, 3 times, so that with A below a product is 576 = 64 * 9 accumulators, modulo 2**32.
 */
#include "tg_native_winograd.h"

#define SIZE 4
#define WIDTH 6
#define TILES 4
#define LANES TG_WINOGRAD_LANES(TILES)
#define INVERSE_OF_9 0x38e38e39U /* modulo 2**32 */

#if TG_NATIVE_RV32

/* A sum as a half; compilers would narrow what is added instead, by two shifts each. */
static inline int16_t half_of(int32_t sum)
{
    __asm__ volatile("" : "+r"(sum));
    return (int16_t)sum;
}

/* One line of inputs: the rows of B'. */
static inline void spread_line(
    int32_t a, int32_t b, int32_t c, int32_t d, int32_t e, int32_t f, tg_aliased_half *to, int32_t step)
{
    const int32_t outer = e - 4 * c;
    const int32_t inner = d - 4 * b;
    const int32_t near = e - c;
    const int32_t slope2 = 2 * (d - b);

    to[0] = half_of(4 * (a - c) + near);
    to[step] = half_of(outer + inner);
    to[2 * step] = half_of(outer - inner);
    to[3 * step] = half_of(near + slope2);
    to[4 * step] = half_of(near - slope2);
    to[5 * step] = half_of(f - d - 2 * slope2);
}

/* Channel after channel; the halves of a word are of two channels that are two apart. */
static void spread(const struct tg_native_taps *taps, uint32_t *values)
{
    tg_aliased_half lines[4][WIDTH * WIDTH];
    tg_aliased_half *to = (tg_aliased_half *)values;
    const int32_t step = 2 * taps->step;

    for (int32_t channel = 0; channel < taps->depth; channel += 4, to += 4 * TILES) {
        const int32_t count = taps->depth - channel < 4 ? taps->depth - channel : 4;
        for (int32_t x = 0; x < WIDTH; x++) {
            const int8_t *a = taps->at[x] + channel;
            const int8_t *b = taps->at[WIDTH + x] + channel;
            const int8_t *c = taps->at[2 * WIDTH + x] + channel;
            const int8_t *d = taps->at[3 * WIDTH + x] + channel;
            const int8_t *e = taps->at[4 * WIDTH + x] + channel;
            const int8_t *f = taps->at[5 * WIDTH + x] + channel;
            if (count == 4) { /* without an index */
                spread_line(a[0], b[0], c[0], d[0], e[0], f[0], lines[0] + x, WIDTH);
                spread_line(a[1], b[1], c[1], d[1], e[1], f[1], lines[1] + x, WIDTH);
                spread_line(a[2], b[2], c[2], d[2], e[2], f[2], lines[2] + x, WIDTH);
                spread_line(a[3], b[3], c[3], d[3], e[3], f[3], lines[3] + x, WIDTH);
                continue;
            }
            for (int32_t i = 0; i < count; i++) {
                spread_line(a[i], b[i], c[i], d[i], e[i], f[i], lines[i] + x, WIDTH);
            }
        }
        for (int32_t i = 0; i < count; i++) {
            tg_aliased_half *const first = to + (i & 1) * 2 * TILES + (i >> 1);
            for (int32_t y = 0; y < WIDTH * WIDTH; y += WIDTH) {
                const tg_aliased_half *const p = lines[i] + y;
                spread_line(p[0], p[1], p[2], p[3], p[4], p[5], first + y * step, step);
            }
        }
    }
}

#elif TG_NATIVE_DSP

/* assembly in columns */
/* clang-format off */

/*
 * Two numbers of a word are L + 65536 H here, modulo 2**32, so that words are added, subtracted and shifted as numbers:
 * 12 instructions for a line, where SADD16 and SSUB16 take 20. Halves of a word are L and H again where L is not
 * negative. Bytes plus 128 are not; their sums are those of the bytes, but in the second row of B', whose coefficients
 * add up to -6: 768 is added there. A line of the second pass begins with L + 0x8000 in its last two words, which
 * count once in each sum: these are L + 0x8000, 16 bits that are not negative as |L| is at most 12,800, and lose the
 * 0x8000 last.
 */
#define BYTES "#0x80808080"
#define SIX_TIMES_128 "#0x03000300"

/* The rows of B', from and to the registers of a line; `near` is one more. */
#define LINE(a, b, c, d, e, f, near)                                                                                   \
    "sub    " a ", " a ", " c "                    \n"                                                                 \
    "sub    " f ", " f ", " d "                    \n"                                                                 \
    "sub    " near ", " e ", " c "                 \n"                                                                 \
    "sub    " c ", " e ", " c ", lsl #2            \n" /* outer */                                                     \
    "sub    " e ", " d ", " b "                    \n" /* slope */                                                     \
    "sub    " b ", " d ", " b ", lsl #2            \n" /* inner */                                                     \
    "add    " a ", " near ", " a ", lsl #2         \n" /* 4 a - 5 c + e */                                             \
    "sub    " f ", " f ", " e ", lsl #2            \n" /* 4 b - 5 d + f */                                             \
    "add    " d ", " near ", " e ", lsl #1         \n"                                                                 \
    "sub    " e ", " near ", " e ", lsl #1         \n"                                                                 \
    "add    " b ", " c ", " b "                    \n" /* outer + inner */                                             \
    "rsb    " c ", " b ", " c ", lsl #1            \n" /* outer - inner */

/* The same without a further register. */
#define LINE_IN_PLACE(a, b, c, d, e, f)                                                                                \
    "sub    " a ", " a ", " c "                    \n"                                                                 \
    "sub    " f ", " f ", " d "                    \n"                                                                 \
    "sub    " e ", " e ", " c "                    \n" /* near */                                                      \
    "sub    " d ", " d ", " b "                    \n" /* slope */                                                     \
    "add    " a ", " e ", " a ", lsl #2            \n"                                                                 \
    "sub    " f ", " f ", " d ", lsl #2            \n"                                                                 \
    "add    " c ", " c ", " c ", lsl #1            \n"                                                                 \
    "sub    " c ", " e ", " c "                    \n" /* outer */                                                     \
    "add    " b ", " b ", " b ", lsl #1            \n"                                                                 \
    "sub    " b ", " d ", " b "                    \n" /* inner */                                                     \
    "add    " b ", " c ", " b "                    \n"                                                                 \
    "rsb    " c ", " b ", " c ", lsl #1            \n"                                                                 \
    "add    " d ", " e ", " d ", lsl #1            \n"                                                                 \
    "rsb    " e ", " d ", " e ", lsl #1            \n"

/* A line of two channels: to their words of 6 positions. */
#define SECOND_PASS                                                                                                    \
    "add    r8, r8, #0x8000          \n"                                                                               \
    "add    r9, r9, #0x8000          \n"                                                                               \
    LINE("r4", "r5", "r6", "r7", "r8", "r9", "r3")                                                                     \
    "eor    r4, r4, #0x8000          \n"                                                                               \
    "eor    r5, r5, #0x8000          \n"                                                                               \
    "eor    r6, r6, #0x8000          \n"                                                                               \
    "eor    r7, r7, #0x8000          \n"                                                                               \
    "eor    r8, r8, #0x8000          \n"                                                                               \
    "eor    r9, r9, #0x8000          \n"                                                                               \
    "str    r4, [r11]                \n"                                                                               \
    "str    r5, [r11, r12]           \n"                                                                               \
    "str    r6, [r11, r12, lsl #1]   \n"                                                                               \
    "add    r2, r11, lr              \n"                                                                               \
    "str    r7, [r2]                 \n"                                                                               \
    "str    r8, [r2, r12]            \n"                                                                               \
    "str    r9, [r2, r12, lsl #1]    \n"

/*
 * Four channels of the pixels at `at`, from byte `offset` of each on, to the words of a tile, `step` bytes apart.
 *
 * First pass    r0  pixels of a column, r1  frame, r2 - r7  words, r8 - lr  even bytes; the last column comes first.
 * Second pass   r0  lines, r1  their end, r4 - r9  a line, r11  values, r12  step, lr  3 steps.
 *
 * Frame: for each column 6 words of the odd bytes, 6 of the even ones, then at, offset, values, step.
 */
static TG_NAKED void spread_four(const int8_t *const *at __attribute__((unused)),
    int32_t offset __attribute__((unused)), uint32_t *values __attribute__((unused)),
    int32_t step __attribute__((unused)))
{
    __asm volatile(
        "push   {r0-r11, lr}             \n"
        "mov    r1, sp                   \n"
        "add    r0, #20                  \n" /* the last column of the tile */
        "1:                              \n"
        "ldr    r2, [r0, #0]             \n"
        "ldr    r3, [r0, #24]            \n"
        "ldr    r4, [r0, #48]            \n"
        "ldr    r5, [r0, #72]            \n"
        "ldr    r6, [r0, #96]            \n"
        "ldr    r7, [r0, #120]           \n"
        "ldr    lr, [r1, #4]             \n"
        "ldr    r2, [r2, lr]             \n"
        "ldr    r3, [r3, lr]             \n"
        "ldr    r4, [r4, lr]             \n"
        "ldr    r5, [r5, lr]             \n"
        "ldr    r6, [r6, lr]             \n"
        "ldr    r7, [r7, lr]             \n"
        "eor    r2, r2, " BYTES "           \n"
        "eor    r3, r3, " BYTES "           \n"
        "eor    r4, r4, " BYTES "           \n"
        "eor    r5, r5, " BYTES "           \n"
        "eor    r6, r6, " BYTES "           \n"
        "eor    r7, r7, " BYTES "           \n"
        "uxtb16 r8, r2                   \n"
        "uxtb16 r9, r3                   \n"
        "uxtb16 r10, r4                  \n"
        "uxtb16 r11, r5                  \n"
        "uxtb16 r12, r6                  \n"
        "uxtb16 lr, r7                   \n"
        LINE_IN_PLACE("r8", "r9", "r10", "r11", "r12", "lr")
        "add    r9, r9, " SIX_TIMES_128 "           \n"
        "push   {r8-r12, lr}             \n"
        "uxtb16 r2, r2, ror #8           \n"
        "uxtb16 r3, r3, ror #8           \n"
        "uxtb16 r4, r4, ror #8           \n"
        "uxtb16 r5, r5, ror #8           \n"
        "uxtb16 r6, r6, ror #8           \n"
        "uxtb16 r7, r7, ror #8           \n"
        LINE("r2", "r3", "r4", "r5", "r6", "r7", "r8")
        "add    r3, r3, " SIX_TIMES_128 "           \n"
        "push   {r2-r7}                  \n"
        "ldr    r2, [r1]                 \n"
        "cmp    r0, r2                   \n"
        "sub    r0, r0, #4               \n"
        "bne    1b                       \n"
        "ldrd   r11, r12, [r1, #8]       \n"
        "add    lr, r12, r12, lsl #1     \n"
        "mov    r0, sp                   \n"
        "add    r1, r0, #24              \n"
        "2:                              \n" /* a line of the tile */
        "ldr    r4, [r0, #24]            \n"
        "ldr    r5, [r0, #72]            \n"
        "ldr    r6, [r0, #120]           \n"
        "ldr    r7, [r0, #168]           \n"
        "ldr    r8, [r0, #216]           \n"
        "ldr    r9, [r0, #264]           \n"
        SECOND_PASS
        "add    r11, r11, #16            \n" /* the next two channels of this tile */
        "ldr    r4, [r0], #4             \n"
        "ldr    r5, [r0, #44]            \n"
        "ldr    r6, [r0, #92]            \n"
        "ldr    r7, [r0, #140]           \n"
        "ldr    r8, [r0, #188]           \n"
        "ldr    r9, [r0, #236]           \n"
        SECOND_PASS
        "add    r11, r2, lr              \n"
        "sub    r11, r11, #16            \n"
        "cmp    r0, r1                   \n"
        "bne    2b                       \n"
        "add    sp, #304                 \n"
        "pop    {r4-r11, pc}             \n");
}

/* clang-format on */

/* Channels that fill no word stand in the last one of their pixel, behind others. */
static void spread_rest(const struct tg_native_taps *taps, int32_t rest, uint32_t *values)
{
    uint32_t words[TG_WINOGRAD_TAPS];
    const int8_t *at[TG_WINOGRAD_TAPS];

    for (int32_t i = 0; i < TG_WINOGRAD_TAPS; i++) {
        words[i] = tg_channels(taps->at[i], taps->depth - 4, 8 * (4 - rest));
        at[i] = (const int8_t *)(words + i);
    }
    spread_four(at, 0, values, 4 * taps->step);
}

static void spread(const struct tg_native_taps *taps, uint32_t *values)
{
    const int32_t rest = taps->depth % 4;
    int32_t channel = 0;

    for (; channel < taps->depth - rest; channel += 4, values += 2 * TILES) {
        spread_four(taps->at, channel, values, 4 * taps->step);
    }
    if (rest != 0) {
        spread_rest(taps, rest, values);
    }
}

#else

/* One line of inputs: the rows of B'. */
static inline void spread_line(
    uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e, uint32_t f, uint32_t *to, int32_t step)
{
    const uint32_t c2 = tg_add16(c, c);
    const uint32_t b2 = tg_add16(b, b);
    const uint32_t outer = tg_sub16(tg_sub16(e, c2), c2); /* e - 4 c */
    const uint32_t inner = tg_sub16(tg_sub16(d, b2), b2); /* d - 4 b */
    const uint32_t near = tg_sub16(e, c);
    const uint32_t slope = tg_sub16(d, b);
    const uint32_t slope2 = tg_add16(slope, slope);
    const uint32_t first = tg_sub16(a, c);
    const uint32_t first2 = tg_add16(first, first);

    to[0] = tg_add16(tg_add16(first2, first2), near); /* 4 a - 5 c + e */
    to[step] = tg_add16(outer, inner);
    to[2 * step] = tg_sub16(outer, inner);
    to[3 * step] = tg_add16(near, slope2);
    to[4 * step] = tg_sub16(near, slope2);
    to[5 * step] = tg_sub16(tg_sub16(tg_sub16(f, d), slope2), slope2); /* 4 b - 5 d + f */
}

static void spread(const struct tg_native_taps *taps, uint32_t *values)
{
    uint32_t even[WIDTH * WIDTH];
    uint32_t odd[WIDTH * WIDTH];
    const int32_t step = taps->step;
    const int32_t depth = taps->depth;

    for (int32_t channel = 0; channel < depth; channel += 4, values += 2 * TILES) {
        const int32_t first = channel > depth - 4 ? depth - 4 : channel;
        const int32_t bits = 8 * (channel - first);
        for (int32_t x = 0; x < WIDTH; x++) {
            const int8_t *const *const at = taps->at + x;
            const uint32_t a = tg_channels(at[0], first, bits);
            const uint32_t b = tg_channels(at[WIDTH], first, bits);
            const uint32_t c = tg_channels(at[2 * WIDTH], first, bits);
            const uint32_t d = tg_channels(at[3 * WIDTH], first, bits);
            const uint32_t e = tg_channels(at[4 * WIDTH], first, bits);
            const uint32_t f = tg_channels(at[5 * WIDTH], first, bits);
            spread_line(tg_even_bytes(a), tg_even_bytes(b), tg_even_bytes(c), tg_even_bytes(d), tg_even_bytes(e),
                tg_even_bytes(f), even + x, WIDTH);
            spread_line(tg_odd_bytes(a), tg_odd_bytes(b), tg_odd_bytes(c), tg_odd_bytes(d), tg_odd_bytes(e),
                tg_odd_bytes(f), odd + x, WIDTH);
        }
        for (int32_t y = 0; y < WIDTH * WIDTH; y += WIDTH) {
            const uint32_t *const p = even + y;
            const uint32_t *const q = odd + y;
            uint32_t *const to = values + y * step;
            spread_line(p[0], p[1], p[2], p[3], p[4], p[5], to, step);
            spread_line(q[0], q[1], q[2], q[3], q[4], q[5], to + TILES, step);
        }
    }
}

#endif

#if TG_NATIVE_DSP

/* assembly in columns */
/* clang-format off */

/* The rows of A', from r2 - r7 to r2, r6, `sum` and r7. */
#define COLLECT_LINE(sum)                                                                                              \
    "add    " sum ", r3, r4               \n"                                                                          \
    "sub    r3, r3, r4               \n"                                                                               \
    "add    r4, r5, r6               \n"                                                                               \
    "sub    r5, r5, r6               \n"                                                                               \
    "add    r2, " sum "                   \n"                                                                          \
    "add    r2, r4                   \n"                                                                               \
    "add    r6, r3, r5, lsl #1       \n"                                                                               \
    "add    " sum ", " sum ", r4, lsl #2  \n"                                                                          \
    "add    r7, r5                   \n"                                                                               \
    "add    r7, r3, r7, lsl #3       \n"

/* A column of products, to a word of each of four lines. */
#define COLLECT_COLUMN                                                                                                 \
    "ldr    r2, [r0], #32            \n"                                                                               \
    "ldr    r3, [r0, #160]           \n"                                                                               \
    "ldr    r4, [r0, #352]           \n"                                                                               \
    "ldr    r5, [r0, #544]           \n"                                                                               \
    "ldr    r6, [r0, #736]           \n"                                                                               \
    "ldr    r7, [r0, #928]           \n"                                                                               \
    COLLECT_LINE("r8")                                                                                                 \
    "str    r6, [r12, #28]           \n"                                                                               \
    "str    r8, [r12, #56]           \n"                                                                               \
    "str    r7, [r12, #84]           \n"                                                                               \
    "str    r2, [r12], #4            \n"

/* Twice the accumulator, requantized; halves of negative values go down. */
#define OUTPUT(sum, to)                                                                                                \
    "mul    " sum ", " sum ", r8          \n" /* 64 accumulators */                                                    \
    "asr    " sum ", " sum ", #5          \n"                                                                          \
    "add    r3, r10, " sum ", asr #31     \n" /* halves of negative values go down */                                  \
    "smmlar " sum ", " sum ", r9, r3      \n"                                                                          \
    "asr    " sum ", " sum ", r11         \n"                                                                          \
    "ssat   " sum ", #8, " sum "          \n"                                                                          \
    "strb   " sum ", [r0" to "]           \n"

/*
 * The outputs of a whole tile; `scales` as the stream has them.
 *
 * First pass    r0  products of a column, r1  scales, r12  lines, lr  end of the products
 * Second pass   r0  output, r1  column_step, r8  inverse of 9, r9 - r11  multiplier, offset, shift, lr  row_step
 *
 * Frame: four lines of 6 words and of how far the next row is, 0 in the last one; output
 */
static TG_NAKED void collect_whole(uint32_t *products __attribute__((unused)),
    const int32_t *scales __attribute__((unused)), int8_t *output __attribute__((unused)),
    int32_t row_step __attribute__((unused)), int32_t column_step __attribute__((unused)))
{
    __asm volatile(
        "push   {r2-r11, lr}             \n"
        "sub    sp, #112                 \n"
        "ldr    r5, [r0, #224]           \n"
        "ldr    r4, [r1], #4             \n"
        "add    r5, r4                   \n" /* this one counts in all outputs */
        "str    r5, [r0, #224]           \n"
        "str    r3, [sp, #24]            \n" /* steps to the next row */
        "str    r3, [sp, #52]            \n"
        "str    r3, [sp, #80]            \n"
        "mov    r3, #0                   \n"
        "str    r3, [sp, #108]           \n"
        "mov    r12, sp                  \n"
        "add    lr, r0, #192             \n"
        "1:                              \n"
        COLLECT_COLUMN COLLECT_COLUMN
        "cmp    r0, lr                   \n"
        "bne    1b                       \n"
        "ldm    r1, {r9-r11}             \n"
        "movw   r8, #0x8e39              \n" /* the inverse of 9 */
        "movt   r8, #0x38e3              \n"
        "ldr    r0, [sp, #112]           \n"
        "ldr    r1, [sp, #156]           \n"
        "2:                              \n" /* a row of outputs */
        "pop    {r2-r7, lr}              \n"
        COLLECT_LINE("r12")
        OUTPUT("r2", "") OUTPUT("r6", ", r1") OUTPUT("r12", ", r1, lsl #1")
        "add    r0, r0, r1, lsl #1       \n"
        OUTPUT("r7", ", r1")
        "sub    r0, r0, r1, lsl #1       \n"
        "add    r0, lr                   \n"
        "cmp    lr, #0                   \n"
        "bne    2b                       \n"
        "pop    {r2-r11, pc}             \n");
}

/* clang-format on */

static inline void collect_lane(
    uint32_t *products, const int32_t *scales, const struct tg_native_tile *tile, int32_t channel)
{
    int8_t *const output = tile->output + channel;
    int8_t outputs[SIZE * SIZE];

    if (tile->rows == SIZE && tile->columns == SIZE) {
        collect_whole(products, scales, output, tile->row_step, tile->column_step);
        return;
    }
    collect_whole(products, scales, outputs, SIZE, 1);
    for (int32_t y = 0; y < tile->rows; y++) {
        for (int32_t x = 0; x < tile->columns; x++) {
            output[y * tile->row_step + x * tile->column_step] = outputs[y * SIZE + x];
        }
    }
}

#else

/* One line of products, `step` words apart: the rows of A'. */
static inline void collect_line(const uint32_t *from, int32_t step, uint32_t *to, int32_t to_step)
{
    const uint32_t sum = from[step] + from[2 * step];
    const uint32_t difference = from[step] - from[2 * step];
    const uint32_t sum2 = from[3 * step] + from[4 * step];
    const uint32_t difference2 = from[3 * step] - from[4 * step];

    to[0] = from[0] + sum + sum2;
    to[to_step] = difference + 2 * difference2;
    to[2 * to_step] = sum + 4 * sum2;
    to[3 * to_step] = difference + 8 * (difference2 + from[5 * step]);
}

static inline int8_t output_of(uint32_t sum, struct tg_native_scale scale)
{
    return tg_requantized((int32_t)(sum * INVERSE_OF_9) >> 5, scale); /* twice the accumulator */
}

static inline void collect_lane(
    uint32_t *products, const int32_t *scales, const struct tg_native_tile *tile, int32_t channel)
{
    const struct tg_native_scale scale = tg_scale_at(scales + 1);
    const int32_t step = tile->column_step;
    uint32_t lines[SIZE * WIDTH];
    const struct tg_native_tile where = *tile;
    int8_t *row = where.output + channel;

    products[(WIDTH + 1) * LANES] += (uint32_t)scales[0]; /* this one counts in all outputs */
    for (int32_t x = 0; x < WIDTH; x++) {
        collect_line(products + x * LANES, WIDTH * LANES, lines + x, WIDTH);
    }
    for (int32_t y = 0; y < where.rows; y++, row += where.row_step) {
        uint32_t sums[SIZE];
        collect_line(lines + y * WIDTH, 1, sums, 1);
        if (where.columns == SIZE) {
            row[0] = output_of(sums[0], scale);
            row[step] = output_of(sums[1], scale);
            row[2 * step] = output_of(sums[2], scale);
            row[3 * step] = output_of(sums[3], scale);
        } else {
            for (int32_t x = 0; x < where.columns; x++) {
                row[x * step] = output_of(sums[x], scale);
            }
        }
    }
}

#endif

static void collect(
    uint32_t *products, const int32_t *scales, const struct tg_native_tile *tiles, int32_t count, int32_t channel)
{
    for (int32_t i = 0; i < 2; i++, products += TILES, scales += TG_WINOGRAD_SCALES) {
        for (int32_t tile = 0; tile < count; tile++) {
            collect_lane(products + tile, scales, tiles + tile, channel + i);
        }
    }
}

const struct tg_native_winograd tg_native_winograd_4x4 = {
    .rows = SIZE,
    .columns = SIZE,
    .stride = 1,
    .tiles = TILES,
    .positions = WIDTH * WIDTH,
    .products = WIDTH * WIDTH,
    .filters = WIDTH * WIDTH,
    .filter_rows = 1,
    .multiply = tg_native_winograd_multiply_4,
    .spread = spread,
    .collect = collect,
};

void tg_native_winograd_4x4_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_winograd(layer, input, output, scratch, &tg_native_winograd_4x4);
}
