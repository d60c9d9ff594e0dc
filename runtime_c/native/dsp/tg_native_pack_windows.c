/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A column holds the whole words of each row of the filter first, then the bytes that are left: of 1 or 2 those of
 * several rows in one word, of 3 a word for each row.
 */
#include "tg_native_blocks.h"
#include "tg_native_columns.h"

/* Where the words of a pixel go, and the word of left bytes that is being filled. */
struct column {
    uint32_t *to;
    uint32_t *rest_to;
    uint32_t word;
    int32_t filled;
};

static inline uint32_t *pack_run(const int8_t *from, int32_t words, uint32_t *to)
{
    for (; words >= 4; words -= 4, from += 16) {
        to = tg_pack_four(from, to);
        to = tg_pack_four(from + 4, to);
        to = tg_pack_four(from + 8, to);
        to = tg_pack_four(from + 12, to);
    }
    for (; words > 0; words--, from += 4) {
        to = tg_pack_four(from, to);
    }
    return to;
}

static inline uint32_t *fill_run(uint32_t pair, int32_t words, uint32_t *to)
{
    for (; words > 0; words--, to += 8) {
        to[0] = pair;
        to[4] = pair;
    }
    return to;
}

/* `count` left bytes of a row, at most 3. */
static inline void add_rest(struct column *column, uint32_t bytes, int32_t count)
{
    column->word |= bytes << column->filled;
    column->filled += 8 * count;
    if (column->filled + 8 * count > 32) {
        column->rest_to = tg_pack_word(column->word, column->rest_to);
        column->word = 0;
        column->filled = 0;
    }
}

static inline void pack_row(struct column *column, const int8_t *from, int32_t words, int32_t rest)
{
    column->to = pack_run(from, words, column->to);
    if (rest != 0) {
        add_rest(column, tg_partial_word(from + 4 * words, rest), rest);
    }
}

static inline void end_column(struct column *column)
{
    if (column->filled != 0) {
        (void)tg_pack_word(column->word, column->rest_to);
    }
}

/* What is the same for all pixels. */
struct filter {
    int32_t rows;
    int32_t words; /* whole ones of a row */
    int32_t rest;  /* bytes that are left */
    int32_t step;  /* bytes of the input from row to row */
};

/* A filter inside the input, of whole words at least one a row: left bytes are the last ones of a word as well. */
static TG_NOINLINE void pack_inside(const struct filter *filter, const int8_t *from, uint32_t *to, uint32_t *rest_to)
{
    const int32_t words = filter->words;
    const int32_t bits = 8 * filter->rest;
    const int32_t skip = filter->step - 4 * words;
    uint32_t word = 0;
    int32_t filled = 0;

    for (int32_t row = filter->rows; row > 0; row--) {
        for (int32_t i = 0; i < words; i++, from += 4) {
            to = tg_pack_four(from, to);
        }
        if (bits != 0) {
            word |= (tg_word(from + bits / 8 - 4) >> (32 - bits)) << filled;
            filled += bits;
            if (filled + bits > 32) {
                rest_to = tg_pack_word(word, rest_to);
                word = 0;
                filled = 0;
            }
        }
        from += skip;
    }
    if (filled != 0) {
        (void)tg_pack_word(word, rest_to);
    }
}

/* The same where no bytes are left and words are many. */
static TG_NOINLINE void pack_inside_runs(const struct filter *filter, const int8_t *from, uint32_t *to)
{
    for (int32_t row = filter->rows; row > 0; row--, from += filter->step) {
        to = pack_run(from, filter->words, to);
    }
}

/* A row of the filter that lies partly beside the input, where pixels are whole words. */
static void pack_partial_words(
    const struct tg_native_convolve *layer, const int8_t *from, int32_t left, int32_t right, struct column *column)
{
    const uint32_t pair = tg_pair(layer->zero_point, layer->zero_point);
    const int32_t words = layer->depth / 4;

    column->to = fill_run(pair, left * words, column->to);
    column->to = pack_run(from, (layer->kernel_width - left - right) * words, column->to);
    column->to = fill_run(pair, right * words, column->to);
}

/* The same for any depth, by way of `line`. */
static void pack_partial_bytes(const struct tg_native_convolve *layer, const int8_t *from, int32_t left, int32_t right,
    struct column *column, int8_t *line)
{
    const int32_t length = layer->kernel_width * layer->depth;
    const int32_t end = length - right * layer->depth;
    int32_t i = 0;

    for (; i < left * layer->depth; i++) {
        line[i] = (int8_t)layer->zero_point;
    }
    for (; i < end; i++) {
        line[i] = *from++;
    }
    for (; i < length; i++) {
        line[i] = (int8_t)layer->zero_point;
    }
    pack_row(column, line, length / 4, length % 4);
}

static void pack_outside(const struct tg_native_convolve *layer, struct column *column)
{
    const uint32_t pair = tg_pair(layer->zero_point, layer->zero_point);
    const int32_t length = layer->kernel_width * layer->depth;
    const int32_t rest = length % 4;

    column->to = fill_run(pair, length / 4, column->to);
    if (rest != 0) {
        add_rest(column, ((uint32_t)(uint8_t)layer->zero_point * 0x01010101U) >> (32 - 8 * rest), rest);
    }
}

static TG_NOINLINE void pack_border(const struct tg_native_convolve *layer, const int8_t *input, int32_t y, int32_t x,
    struct column column, int8_t *line)
{
    const int32_t beyond = x + layer->kernel_width - layer->input_width;
    const int32_t left = x < 0 ? -x : 0;
    const int32_t right = beyond > 0 ? beyond : 0;
    const int32_t length = layer->kernel_width * layer->depth;

    for (int32_t row = y; row < y + layer->kernel_height; row++) {
        const int8_t *from = input;
        if (row < 0 || row >= layer->input_height || left + right >= layer->kernel_width) {
            pack_outside(layer, &column);
            continue;
        }
        from += (row * layer->input_width + x + left) * layer->depth;
        if (left + right == 0) {
            pack_row(&column, from, length / 4, length % 4);
        } else if (layer->depth % 4 == 0) {
            pack_partial_words(layer, from, left, right, &column);
        } else {
            pack_partial_bytes(layer, from, left, right, &column, line);
        }
    }
    end_column(&column);
}

#if TG_NATIVE_DSP

/* assembly in columns */
/* clang-format off */

/*
 * r0   input, from position to position            r1   pairs of words of a position        r3   padding
 * r2, r8, r9, r10   columns of pixels 0 to 3       r5   pairs that are left
 * r4, r6   a word, and its even and odd bytes      r7   positions beside the input: 1 for the first one, 2 for the last
 * r11, r12 rows that are left, bytes of the input from behind the last position to the first one of the next row
 */
#define STORED(pixel)                                                                                                  \
    "str    r6, [" pixel "], #16            \n"                                                                        \
    "str    r4, [" pixel "], #16            \n"

#define WORD(STORES)                                                                                                   \
    "ldr    r4, [r0], #4                    \n"                                                                        \
    "sxtb16 r6, r4                          \n"                                                                        \
    "sxtb16 r4, r4, ror #8                  \n" STORES

#define POSITION(STORES)                                                                                               \
    "mov    r5, r1                          \n"                                                                        \
    "1:                                     \n" WORD(STORES) WORD(STORES) "subs   r5, #1                          \n"  \
    "bne    1b                              \n"

/* One that a single pixel sees, padding where r7 has that bit. */
#define END_POSITION(bit, pixel)                                                                                       \
    "tst    r7, #" bit "                    \n"                                                                        \
    "bne    2f                              \n" POSITION(STORED(pixel)) "b      4f                              \n"    \
    "2:                                     \n"                                                                        \
    "add    r0, r0, r1, lsl #3              \n"                                                                        \
    "mov    r5, r1                          \n"                                                                        \
    "mov    r4, r3                          \n"                                                                        \
    "mov    r6, r3                          \n"                                                                        \
    "3:                                     \n" STORED(pixel) STORED(pixel) "subs   r5, #1                         \n" \
    "bne    3b                              \n"                                                                        \
    "4:                                     \n"

/*
 * Rows of a filter of 3 positions for 4 pixels side by side: the 6 positions that they see are unpacked once, for up
 * to 3 pixels each. `from` is the second position, which lies inside of the input as all but the ends do.
 */
static TG_NAKED void pack_overlapping(const int8_t *from __attribute__((unused)),
    int32_t pairs __attribute__((unused)), uint32_t *to __attribute__((unused)),
    uint32_t padding __attribute__((unused)), uint32_t beside __attribute__((unused)),
    int32_t rows __attribute__((unused)), int32_t row_skip __attribute__((unused)))
{
    __asm volatile("push   {r4-r11, lr}                    \n"
                   "ldr    r7, [sp, #36]                   \n"
                   "ldrd   r11, r12, [sp, #40]             \n"
                   "sub    r0, r0, r1, lsl #3              \n"
                   "add    r8, r2, #4                      \n"
                   "add    r9, r2, #8                      \n"
                   "add    r10, r2, #12                    \n"
                   "5:                                     \n" /* a row */
        END_POSITION("1", "r2") POSITION(STORED("r2") STORED("r8")) POSITION(STORED("r2") STORED("r8") STORED("r9"))
            POSITION(STORED("r8") STORED("r9") STORED("r10")) POSITION(STORED("r9") STORED("r10"))
                END_POSITION("2", "r10") "add    r0, r12                          \n"
                                         "subs   r11, #1                         \n"
                                         "bne    5b                              \n"
                                         "pop    {r4-r11, pc}                    \n");
}

/* clang-format on */

static inline int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* A row of padding under 4 pixels. */
static uint32_t *fill_row(uint32_t padding, int32_t words, uint32_t *to)
{
    for (int32_t pixel = 0; pixel < 4; pixel++) {
        (void)fill_run(padding, words, to + pixel);
    }
    return to + 8 * words;
}

/* A block for pack_overlapping; `y`, `x`: where the filter of the first pixel begins. */
static void pack_side_by_side(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t y, int32_t x, uint32_t *to)
{
    const uint32_t padding = tg_pair(layer->zero_point, layer->zero_point);
    const int32_t depth = layer->depth;
    const int32_t width = layer->input_width;
    const uint32_t beside = (x < 0 ? 1U : 0U) | (x + 6 > width ? 2U : 0U);
    const int32_t end = y + layer->kernel_height;
    const int32_t inside_end = smaller(end, layer->input_height);

    for (; y < 0 && y < end; y++) {
        to = fill_row(padding, 3 * depth / 4, to);
    }
    if (y < inside_end) {
        const int8_t *const from = input + (y * width + x + 1) * depth;
        pack_overlapping(from, depth / 8, to, padding, beside, inside_end - y, (width - 6) * depth);
        to += 6 * depth * (inside_end - y);
        y = inside_end;
    }
    for (; y < end; y++) {
        to = fill_row(padding, 3 * depth / 4, to);
    }
}

#endif

/* 4 pixels, each on its own. */
static TG_NOINLINE void pack_apart(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t row, int32_t position, uint32_t *columns)
{
    const uint32_t length = (uint32_t)(layer->kernel_width * layer->depth);
    const struct filter filter = {
        .rows = layer->kernel_height,
        .words = (int32_t)(length / 4U),
        .rest = (int32_t)(length % 4U),
        .step = layer->input_width * layer->depth,
    };
    const int32_t last_x = layer->input_width - layer->kernel_width;
    const int32_t last_y = layer->input_height - layer->kernel_height;
    int8_t *const line = (int8_t *)(columns + 8 * layer->quads);

    for (uint32_t *to = columns; to < columns + 4; to++) {
        const int32_t y = row * layer->stride_height - layer->pad_top;
        const int32_t x = position * layer->stride_width - layer->pad_left;
        const int32_t from = y * filter.step + x * layer->depth;
        uint32_t *const rest_to = to + 8 * filter.rows * filter.words;
        if (y < 0 || x < 0 || y > last_y || x > last_x || filter.words == 0) {
            pack_border(layer, input, y, x, (struct column){.to = to, .rest_to = rest_to}, line);
        } else if (filter.rest != 0 || filter.words < 4) {
            pack_inside(&filter, input + from, to, rest_to);
        } else {
            pack_inside_runs(&filter, input + from, to);
        }
        if (++position == layer->output_width) {
            position = 0;
            row += row < layer->output_height - 1; /* of less than 4 pixels the last ones are not used */
        }
    }
}

void tg_native_pack_windows(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns)
{
    const int32_t row = (int32_t)((uint32_t)first / (uint32_t)layer->output_width);
    const int32_t position = first - row * layer->output_width;

#if TG_NATIVE_DSP
    const int32_t x = position - layer->pad_left;
    if (layer->kernel_width == 3 && layer->stride_width == 1 && layer->depth % 8 == 0 &&
        position + 4 <= layer->output_width && x >= -1 && x + 5 <= layer->input_width) {
        pack_side_by_side(layer, input, row * layer->stride_height - layer->pad_top, x, columns);
        return;
    }
#endif
    pack_apart(layer, input, row, position, columns);
}
