/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A column holds the whole words of each row of the filter first, then the bytes that are left of all rows.
 */
#include "tg_native_blocks.h"
#include "tg_native_columns.h"

static uint32_t *pack_run(const int8_t *from, int32_t words, uint32_t *to)
{
    for (; words >= 4; words -= 4, from += 16) {
        to = tg_pack_word(tg_word(from), to);
        to = tg_pack_word(tg_word(from + 4), to);
        to = tg_pack_word(tg_word(from + 8), to);
        to = tg_pack_word(tg_word(from + 12), to);
    }
    for (; words > 0; words--, from += 4) {
        to = tg_pack_word(tg_word(from), to);
    }
    return to;
}

static uint32_t *fill_run(uint32_t pair, int32_t words, uint32_t *to)
{
    for (; words > 0; words--, to += 8) {
        to[0] = pair;
        to[4] = pair;
    }
    return to;
}

static void pack_inside(const struct tg_native_convolve *layer, const int8_t *from, uint32_t *to)
{
    const int32_t step = layer->input_width * layer->depth;
    const int32_t length = layer->kernel_width * layer->depth;
    const int32_t rest = length % 4;
    const int32_t rows = layer->kernel_height;
    uint32_t word = 0;
    int32_t filled = 0;

    for (int32_t row = 0; row < rows; row++) {
        to = pack_run(from + row * step, length / 4, to);
    }
    for (int32_t row = 0; row < rows && rest != 0; row++) {
        const int8_t *const bytes = from + row * step + length - rest;
        for (int32_t i = 0; i < rest; i++) {
            word |= (uint32_t)(uint8_t)bytes[i] << filled;
            filled += 8;
            if (filled == 32) {
                to = tg_pack_word(word, to);
                word = 0;
                filled = 0;
            }
        }
    }
    if (filled != 0) {
        (void)tg_pack_word(word, to);
    }
}

/* At the border, where pixels are whole words. */
static void pack_border_words(const struct tg_native_convolve *layer, const int8_t *input, int32_t y, int32_t x,
    uint32_t *to)
{
    const uint32_t pair = tg_both_halves(layer->zero_point);
    const int32_t words = layer->depth / 4;
    const int32_t left = x < 0 ? -x : 0;
    const int32_t beyond = x + layer->kernel_width - layer->input_width;
    const int32_t right = beyond > 0 ? beyond : 0;

    for (int32_t row = y; row < y + layer->kernel_height; row++) {
        if (row < 0 || row >= layer->input_height) {
            to = fill_run(pair, layer->kernel_width * words, to);
            continue;
        }
        to = fill_run(pair, left * words, to);
        to = pack_run(input + (row * layer->input_width + x + left) * layer->depth,
            (layer->kernel_width - left - right) * words, to);
        to = fill_run(pair, right * words, to);
    }
}

/* Bytes [first, end) of one row of the filter, at the border. */
static uint32_t *pack_border_bytes(const struct tg_native_convolve *layer, const int8_t *input, int32_t row, int32_t x,
    int32_t first, int32_t end, uint32_t *to, uint32_t *word, int32_t *filled)
{
    const int32_t width = layer->input_width * layer->depth;
    const int32_t start = x * layer->depth;
    const int32_t is_inside = row >= 0 && row < layer->input_height;

    for (int32_t i = start + first; i < start + end; i++) {
        const int32_t value = is_inside && i >= 0 && i < width ? input[row * width + i] : layer->zero_point;
        *word |= (uint32_t)(uint8_t)value << *filled;
        *filled += 8;
        if (*filled == 32) {
            to = tg_pack_word(*word, to);
            *word = 0;
            *filled = 0;
        }
    }
    return to;
}

/* At the border, byte by byte. */
static void pack_border(const struct tg_native_convolve *layer, const int8_t *input, int32_t y, int32_t x, uint32_t *to)
{
    const int32_t length = layer->kernel_width * layer->depth;
    const int32_t whole = length - length % 4;
    uint32_t word = 0;
    int32_t filled = 0;

    for (int32_t row = 0; row < layer->kernel_height; row++) {
        to = pack_border_bytes(layer, input, y + row, x, 0, whole, to, &word, &filled);
    }
    for (int32_t row = 0; row < layer->kernel_height; row++) {
        to = pack_border_bytes(layer, input, y + row, x, whole, length, to, &word, &filled);
    }
    if (filled != 0) {
        (void)tg_pack_word(word, to);
    }
}

static void pack_window(const struct tg_native_convolve *layer, const int8_t *input, int32_t y, int32_t x, uint32_t *to)
{
    const int32_t is_inside = y >= 0 && x >= 0 && y + layer->kernel_height <= layer->input_height
        && x + layer->kernel_width <= layer->input_width;

    if (is_inside) {
        pack_inside(layer, input + (y * layer->input_width + x) * layer->depth, to);
    } else if (layer->depth % 4 == 0) {
        pack_border_words(layer, input, y, x, to);
    } else {
        pack_border(layer, input, y, x, to);
    }
}

void tg_native_pack_windows(const struct tg_native_convolve *layer, const int8_t *input, int32_t first,
    uint32_t *columns)
{
    const int32_t width = layer->output_width;
    int32_t row = first / width;
    int32_t column = first - row * width;

    for (int32_t pixel = 0; pixel < 4; pixel++) {
        pack_window(layer, input, row * layer->stride_height - layer->pad_top,
            column * layer->stride_width - layer->pad_left, columns + pixel);
        if (++column == width) {
            column = 0;
            if (row < layer->output_height - 1) { /* of less than 4 pixels the last ones are not used */
                row++;
            }
        }
    }
}
