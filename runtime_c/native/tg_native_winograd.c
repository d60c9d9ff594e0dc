/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_winograd.h"

/* A convolution in tiles. */
struct tiling {
    const struct tg_native_convolve *layer;
    const struct tg_native_winograd *method;
    const int8_t *padding; /* a pixel beside the input */
    uint32_t *values;
    uint32_t *products;
    int32_t width; /* of the tile under the input: 4 or 6 */
    int32_t columns;
    int32_t tiles;
};

static inline int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* The pixels under the tile at (row, column) of the output. */
static void find_taps(
    const struct tiling *all, const int8_t *input, int32_t row, int32_t column, struct tg_native_taps *taps)
{
    const struct tg_native_convolve *const layer = all->layer;
    const int8_t **at = taps->at;

    for (int32_t y = row - layer->pad_top; y < row - layer->pad_top + all->width; y++) {
        const int8_t *const line = input + y * layer->input_width * layer->depth;
        const int32_t is_inside = y >= 0 && y < layer->input_height;
        for (int32_t x = column - layer->pad_left; x < column - layer->pad_left + all->width; x++) {
            *at++ = is_inside && x >= 0 && x < layer->input_width ? line + x * layer->depth : all->padding;
        }
    }
}

/* One pair of channels of up to 4 tiles; returns the next pair's piece of the stream. */
static const int32_t *convolve_pair(
    const struct tiling *all, const int32_t *stream, const struct tg_native_tile *tiles, int32_t count, int32_t channel)
{
    const int32_t positions = all->width * all->width;
    const int32_t *const scales = stream + 4 * all->layer->quads * positions;

    tg_native_winograd_multiply(stream, all->values, all->layer->quads, positions, all->products);
    for (int32_t i = 0; i < count; i++) {
        struct tg_native_tile tile = tiles[i];
        tile.output += channel;
        all->method->collect(all->products + i, scales, &tile);
        tile.output++;
        all->method->collect(all->products + TG_WINOGRAD_TILES + i, scales + TG_WINOGRAD_SCALES, &tile);
    }
    return scales + 2 * TG_WINOGRAD_SCALES;
}

/* Up to 4 tiles. */
static void convolve_tiles(const struct tiling *all, const int8_t *input, int8_t *output, int32_t first, int32_t count)
{
    const struct tg_native_convolve *const layer = all->layer;
    const int32_t size = all->method->size;
    const int32_t *stream = layer->stream;
    struct tg_native_tile tiles[TG_WINOGRAD_TILES];
    struct tg_native_taps taps;

    taps.depth = layer->depth;
    taps.step = 8 * layer->quads;
    for (int32_t i = 0; i < count; i++) {
        const int32_t row = (first + i) / all->columns * size;
        const int32_t column = (first + i) % all->columns * size;
        tiles[i].output = output + (row * layer->output_width + column) * layer->channels;
        tiles[i].rows = smaller(size, layer->output_height - row);
        tiles[i].columns = smaller(size, layer->output_width - column);
        tiles[i].row_step = layer->output_width * layer->channels;
        tiles[i].column_step = layer->channels;
        find_taps(all, input, row, column, &taps);
        all->method->spread(&taps, all->values + i);
    }
    if (layer->channels % 2 != 0) { /* the second channel is computed twice, so that all come in pairs */
        stream = convolve_pair(all, stream, tiles, count, 0);
    }
    for (int32_t channel = layer->channels % 2; channel < layer->channels; channel += 2) {
        stream = convolve_pair(all, stream, tiles, count, channel);
    }
}

void tg_native_winograd(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch,
    const struct tg_native_winograd *method)
{
    const int32_t width = method->size + 2;
    uint32_t *const values = scratch;
    uint32_t *const products = values + 8 * layer->quads * width * width;
    int8_t *const padding = (int8_t *)(products + TG_WINOGRAD_LANES * width * width);
    const int32_t columns = (layer->output_width + method->size - 1) / method->size;
    const int32_t rows = (layer->output_height + method->size - 1) / method->size;
    const struct tiling all = {layer, method, padding, values, products, width, columns, rows * columns};

    for (int32_t i = 0; i < layer->depth; i++) {
        padding[i] = (int8_t)layer->zero_point;
    }
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        for (int32_t first = 0; first < all.tiles; first += TG_WINOGRAD_TILES) {
            convolve_tiles(&all, input, output, first, smaller(TG_WINOGRAD_TILES, all.tiles - first));
        }
        tg_native_clamp_s8(
            output, layer->output_height * layer->output_width * layer->channels, layer->min, layer->max);
        input += layer->input_height * layer->input_width * layer->depth;
        output += layer->output_height * layer->output_width * layer->channels;
    }
}
