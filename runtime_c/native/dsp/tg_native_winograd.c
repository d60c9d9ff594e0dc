/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_winograd.h"

/* A convolution in tiles. */
struct tiling {
    const struct tg_native_convolve *layer;
    const struct tg_native_winograd *method;
    tg_native_winograd_transform *transform; /* NULL where filters stand in the stream as they are multiplied */
    const int8_t *padding;                   /* a pixel beside the input */
    int32_t *filters;                        /* transformed ones of a pair */
    uint32_t *values;
    uint32_t *products;
    int32_t quads;   /* numbers of a position / 4 */
    int32_t columns; /* of tiles */
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
    const int32_t stride = all->method->stride;
    const int32_t height = (all->method->rows - 1) * stride + 3;
    const int32_t width = (all->method->columns - 1) * stride + 3;
    const int32_t first_y = row * stride - layer->pad_top;
    const int32_t first_x = column * stride - layer->pad_left;
    const int32_t is_wide = first_x >= 0 && first_x + width <= layer->input_width;
    const int8_t **at = taps->at;

    for (int32_t y = first_y; y < first_y + height; y++) {
        const int8_t *const line = input + y * layer->input_width * layer->depth;
        const int32_t is_inside = y >= 0 && y < layer->input_height;
        if (is_inside && is_wide) {
            const int8_t *pixel = line + first_x * layer->depth;
            for (const int8_t **const end = at + width; at < end; pixel += layer->depth) {
                *at++ = pixel;
            }
            continue;
        }
        for (int32_t x = first_x; x < first_x + width; x++) {
            *at++ = is_inside && x >= 0 && x < layer->input_width ? line + x * layer->depth : all->padding;
        }
    }
}

/* One pair of channels of some tiles; returns the next pair's piece of the stream. */
static const int32_t *convolve_pair(
    const struct tiling *all, const int32_t *stream, const struct tg_native_tile *tiles, int32_t count, int32_t channel)
{
    const struct tg_native_winograd *const method = all->method;
    const int32_t *filters = stream;
    const int32_t *scales = stream + 4 * all->quads * method->filters;

    if (all->transform != NULL) {
        all->transform(stream, all->quads, all->filters);
        filters = all->filters;
        scales = stream + TG_WINOGRAD_BYTES * all->quads;
    }
    method->multiply(filters, all->values, all->quads, method->products, all->products);
    method->collect(all->products, scales, tiles, count, channel);
    return scales + 2 * TG_WINOGRAD_SCALES;
}

/* As many tiles as are multiplied at once, or less. */
static void convolve_tiles(const struct tiling *all, const int8_t *input, int8_t *output, int32_t first, int32_t count)
{
    const struct tg_native_convolve *const layer = all->layer;
    const struct tg_native_winograd *const method = all->method;
    const int32_t *stream = layer->stream;
    struct tg_native_tile tiles[TG_WINOGRAD_TILES];
    struct tg_native_taps taps;

    taps.depth = layer->depth;
    taps.step = 2 * method->tiles * all->quads;
    for (int32_t i = 0; i < count; i++) {
        const int32_t row = (first + i) / all->columns * method->rows;
        const int32_t column = (first + i) % all->columns * method->columns;
        tiles[i].output = output + (row * layer->output_width + column) * layer->channels;
        tiles[i].rows = smaller(method->rows, layer->output_height - row);
        tiles[i].columns = smaller(method->columns, layer->output_width - column);
        tiles[i].row_step = layer->output_width * layer->channels;
        tiles[i].column_step = layer->channels;
        find_taps(all, input, row, column, &taps);
        method->spread(&taps, all->values + i);
    }
    if (layer->channels % 2 != 0) { /* the second channel is computed twice, so that all come in pairs */
        stream = convolve_pair(all, stream, tiles, count, 0);
    }
    for (int32_t channel = layer->channels % 2; channel < layer->channels; channel += 2) {
        stream = convolve_pair(all, stream, tiles, count, channel);
    }
}

void tg_native_winograd_of_bytes(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output,
    void *scratch, const struct tg_native_winograd *method, tg_native_winograd_transform *transform)
{
    const int32_t quads = layer->quads * method->filter_rows;
    uint32_t *const values = scratch;
    uint32_t *const products = values + 2 * method->tiles * quads * method->positions;
    uint32_t *const behind = products + TG_WINOGRAD_LANES(method->tiles) * method->products;
    int8_t *const padding = (int8_t *)behind;
    int32_t *const filters = (int32_t *)(behind + layer->quads);
    const int32_t columns = (layer->output_width + method->columns - 1) / method->columns;
    const int32_t rows = (layer->output_height + method->rows - 1) / method->rows;
    const struct tiling all = {
        .layer = layer,
        .method = method,
        .transform = transform,
        .padding = padding,
        .filters = filters,
        .values = values,
        .products = products,
        .quads = quads,
        .columns = columns,
        .tiles = rows * columns,
    };

    for (int32_t i = 0; i < layer->depth; i++) {
        padding[i] = (int8_t)layer->zero_point;
    }
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        for (int32_t first = 0; first < all.tiles; first += method->tiles) {
            convolve_tiles(&all, input, output, first, smaller(method->tiles, all.tiles - first));
        }
        tg_native_clamp_s8(
            output, layer->output_height * layer->output_width * layer->channels, layer->min, layer->max);
        input += layer->input_height * layer->input_width * layer->depth;
        output += layer->output_height * layer->output_width * layer->channels;
    }
}

void tg_native_winograd(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch,
    const struct tg_native_winograd *method)
{
    tg_native_winograd_of_bytes(layer, input, output, scratch, method, NULL);
}
