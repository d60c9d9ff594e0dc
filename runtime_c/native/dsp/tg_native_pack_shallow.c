/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inputs of 1 to 4 channels: a band holds the rows under one row of outputs, padding included, so that every filter
 * lies inside. Columns are those of tg_native_pack_windows.
 */
#include "tg_native_blocks.h"
#include "tg_native_columns.h"

struct band {
    int8_t *bytes;
    int32_t row_bytes; /* whole words, and a word more than the filters reach */
    int32_t before;    /* bytes of padding at the left */
    int32_t inside;    /* of the input */
};

static void fill(int8_t *to, uint32_t word, int32_t bytes)
{
    for (; bytes > 0; bytes -= 4, to += 4) {
        memcpy(to, &word, sizeof word);
    }
}

static void copy(int8_t *to, const int8_t *from, int32_t bytes)
{
#if TG_NATIVE_RV32
    for (; bytes >= 8; bytes -= 8, to += 8, from += 8) { /* where words may not lie anywhere, memcpy is a call */
        const int8_t a = from[0];
        const int8_t b = from[1];
        const int8_t c = from[2];
        const int8_t d = from[3];
        to[0] = a;
        to[1] = b;
        to[2] = c;
        to[3] = d;
        to[4] = from[4];
        to[5] = from[5];
        to[6] = from[6];
        to[7] = from[7];
    }
#else
    for (; bytes >= 16; bytes -= 16, to += 16, from += 16) {
        memcpy(to, from, 16);
    }
#endif
    for (; bytes > 0; bytes--) {
        *to++ = *from++;
    }
}

/* The rows under a row of outputs; each part of a row may write a few bytes of the next one. */
static TG_NOINLINE void fill_band(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t row, const struct band *band)
{
    const uint32_t padding = (uint32_t)(uint8_t)layer->zero_point * 0x01010101U;
    const int32_t input_bytes = layer->input_width * layer->depth;
    const int32_t first = row * layer->stride_height - layer->pad_top;
    const int32_t after = band->before + band->inside;
    int8_t *to = band->bytes;

    for (int32_t y = first; y < first + layer->kernel_height; y++, to += band->row_bytes) {
        if (y < 0 || y >= layer->input_height) {
            fill(to, padding, band->row_bytes);
            continue;
        }
        fill(to, padding, band->before);
        copy(to + band->before, input + y * input_bytes, band->inside);
        fill(to + after, padding, band->row_bytes - 3 - after);
    }
}

/* One pixel; the optimiser makes a version for each size of rows that is given as a constant. */
static inline void pack_pixel(
    const int8_t *from, int32_t row_bytes, int32_t rows, int32_t words, int32_t rest, uint32_t *to)
{
    uint32_t *rest_to = to + 8 * rows * words;
    uint32_t word = 0;
    int32_t filled = 0;

    for (int32_t row = 0; row < rows; row++, from += row_bytes) {
        for (int32_t i = 0; i < words; i++) {
            to = tg_pack_four(from + 4 * i, to);
        }
        if (rest != 0) {
            word |= (tg_word(from + 4 * words) & (0xffffffffU >> (32 - 8 * rest))) << filled;
            filled += 8 * rest;
            if (filled + 8 * rest > 32) {
                rest_to = tg_pack_word(word, rest_to);
                word = 0;
                filled = 0;
            }
        }
    }
    if (filled != 0) {
        (void)tg_pack_word(word, rest_to);
    }
}

static TG_NOINLINE void pack_any(const int8_t *from, int32_t row_bytes, int32_t rows, int32_t length, uint32_t *to)
{
    pack_pixel(from, row_bytes, rows, length / 4, length % 4, to);
}

/* Two words of a row. */
static inline uint32_t *pack_two(const int8_t *from, uint32_t *to)
{
#if TG_NATIVE_RV32
    return tg_pack_four(from + 4, tg_pack_four(from, to));
#else
    const uint32_t first = tg_word(from); /* loads one behind the other take less time */
    const uint32_t second = tg_word(from + 4);
    return tg_pack_word(second, tg_pack_word(first, to));
#endif
}

/* 3x3 of three channels, the filter of most first layers. */
static inline void pack_3x3x3(const int8_t *from, int32_t row_bytes, uint32_t *to)
{
    const int8_t *const second = from + row_bytes;
    const int8_t *const third = second + row_bytes;
    const uint32_t last =
        (uint32_t)(uint8_t)from[8] | (uint32_t)(uint8_t)second[8] << 8 | (uint32_t)(uint8_t)third[8] << 16;

    to = pack_two(third, pack_two(second, pack_two(from, to)));
    (void)tg_pack_word(last, to);
}

/* `count` pixels side by side. */
static void pack(
    const int8_t *from, int32_t step, int32_t row_bytes, int32_t rows, int32_t length, int32_t count, uint32_t *to)
{
    uint32_t *const end = to + count;

    if (length == 9 && rows == 3) {
        for (; to < end; to++, from += step) {
            pack_3x3x3(from, row_bytes, to);
        }
    } else if (length == 4) {
        for (; to < end; to++, from += step) {
            pack_pixel(from, row_bytes, rows, 1, 0, to);
        }
    } else {
        for (; to < end; to++, from += step) {
            pack_any(from, row_bytes, rows, length, to);
        }
    }
}

/* Behind the columns: the row of the outputs that the band is for, then the band. */
void tg_native_pack_shallow(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns)
{
    int32_t *const filled = (int32_t *)(columns + 8 * layer->quads);
    const int32_t depth = layer->depth;
    const int32_t reach = (layer->output_width - 1) * layer->stride_width + layer->kernel_width;
    const int32_t before = layer->pad_left < reach ? layer->pad_left : reach;
    const int32_t inside = reach - before < layer->input_width ? reach - before : layer->input_width;
    const struct band band = {(int8_t *)(filled + 1), tg_native_band_bytes(layer), before * depth, inside * depth};
    const int32_t step = layer->stride_width * depth;
    int32_t row = (int32_t)((uint32_t)first / (uint32_t)layer->output_width);
    int32_t position = first - row * layer->output_width;

    if (first == 0) {
        *filled = -1;
    }
    for (int32_t left = 4, count; left > 0; left -= count) {
        count = layer->output_width - position < left ? layer->output_width - position : left;
        if (*filled != row) {
            fill_band(layer, input, row, &band);
            *filled = row;
        }
        pack(band.bytes + position * step, step, band.row_bytes, layer->kernel_height, layer->kernel_width * depth,
            count, columns + 4 - left);
        position = 0;
        row += row < layer->output_height - 1; /* of less than 4 pixels the last ones are not used */
    }
}
