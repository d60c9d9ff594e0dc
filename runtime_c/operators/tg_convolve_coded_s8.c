/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_coded_s8.h"
#include "tg_dot_s8_s16.h"
#include "tg_fixed_point.h"

#include <stddef.h>

#define TG_FILTERS 4 /* at once, where scratch is for so many */

/** The taps of a filter that lie over the image, along one axis. */
struct taps {
    int32_t first;
    int32_t end;
    int32_t place; /**< of the first one, in the image */
};

/** Filters whose numbers stand in scratch: TG_FILTERS of them side by side, or one. */
struct tile {
    const struct tg_coded_convolution *layer;
    const int16_t *numbers;
    int32_t channel; /**< the first one */
    int32_t filters;
};

static int32_t number_of(const struct tg_coded_convolution *layer, uint32_t code)
{
    int32_t number;

    if (layer->bits < 8) {
        number = layer->levels[code];
    } else {
        number = layer->is_signed != 0 ? (int32_t)(int8_t)code : (int32_t)code;
    }
    return number;
}

/** Numbers of `count` codes from a bit on, less their zero point. */
static void decode_codes(
    const struct tg_coded_convolution *layer, int32_t position, int32_t zero, int32_t count, int16_t *numbers)
{
    const uint32_t mask = (1U << layer->bits) - 1U;

    for (int32_t i = 0; i < count; i++) {
        const uint32_t code = ((uint32_t)layer->codes[position >> 3] >> (position & 7)) & mask;

        numbers[tg_place_s16(i, count)] = (int16_t)(number_of(layer, code) - zero);
        position += layer->bits;
    }
}

/** Four numbers by codes of four or two bits. */
static inline void place_quad(const int8_t *levels, uint32_t codes, int32_t bits, int32_t zero, int16_t *numbers)
{
    const uint32_t mask = (1U << bits) - 1U;

    numbers[tg_place_s16(0, 4)] = (int16_t)(levels[codes & mask] - zero);
    numbers[tg_place_s16(1, 4)] = (int16_t)(levels[(codes >> bits) & mask] - zero);
    numbers[tg_place_s16(2, 4)] = (int16_t)(levels[(codes >> (2 * bits)) & mask] - zero);
    numbers[tg_place_s16(3, 4)] = (int16_t)(levels[(codes >> (3 * bits)) & mask] - zero);
}

/** Numbers of whole chunks of codes of four or two bits that begin with a byte; `step`: from chunk to chunk. */
static void decode_chunks(
    const struct tg_coded_convolution *layer, const uint8_t *codes, int32_t zero, int32_t step, int16_t *numbers)
{
    const int8_t *const levels = layer->levels;

    for (int32_t chunk = 0; chunk < layer->block; chunk += TG_DOT_CHUNK) {
        for (int32_t i = 0; i < TG_DOT_CHUNK; i += 4) {
            if (layer->bits == 4) {
                place_quad(levels, (uint32_t)codes[0] | ((uint32_t)codes[1] << 8), 4, zero, numbers + i);
                codes += 2;
            } else {
                place_quad(levels, *codes, 2, zero, numbers + i);
                codes++;
            }
        }
        numbers += step;
    }
}

/** Numbers of one block under one tap, less their zero point: those of filter `index` of so many side by side. */
static void decode_block(const struct tg_coded_convolution *layer, int32_t position, int32_t zero, int32_t filters,
    int32_t index, int16_t *numbers)
{
    const int32_t size = filters == 1 ? layer->block : TG_DOT_CHUNK;

    if ((layer->bits == 4 || layer->bits == 2) && layer->block % TG_DOT_CHUNK == 0 && (position & 7) == 0) {
        decode_chunks(
            layer, layer->codes + (position >> 3), zero, TG_DOT_CHUNK * filters, numbers + index * TG_DOT_CHUNK);
    } else {
        for (int32_t first = 0; first < layer->block; first += size) {
            const int32_t here = layer->block - first < size ? layer->block - first : size;

            decode_codes(layer, position, zero, here, numbers + index * here);
            position += here * layer->bits;
            numbers += here * filters;
        }
    }
}

/** The numbers of one filter of a tile; `index`: which one. */
static void decode(
    const struct tg_coded_convolution *layer, int32_t channel, int32_t filters, int32_t index, int16_t *numbers)
{
    const int32_t depth = layer->shape.filter_depth;
    const int32_t taps = layer->shape.filter_height * layer->shape.filter_width;
    int32_t position = channel * taps * depth * layer->bits;

    for (int32_t tap = 0; tap < taps; tap++) {
        int32_t block = channel * layer->next_zero;

        for (int32_t first = 0; first < depth; first += layer->block) {
            const int32_t zero = layer->zero_points == NULL ? 0 : number_of(layer, layer->zero_points[block]);

            decode_block(layer, position, zero, filters, index, numbers);
            numbers += filters * layer->block;
            position += layer->block * layer->bits;
            block++;
        }
    }
}

static struct taps taps_over(int32_t start, int32_t size, int32_t taps, int32_t dilation)
{
    struct taps found = {0, taps, start};

    while (found.place < 0 && found.first < taps) {
        found.place += dilation;
        found.first++;
    }
    while (found.end > found.first && start + (found.end - 1) * dilation >= size) {
        found.end--;
    }
    return found;
}

/** Adds sums of products of a block, times its factors in filters that are `blocks` factors apart. */
static void add_scaled(const struct tg_coded_convolution *layer, const int32_t *sums, int32_t filters, int32_t factor,
    int32_t blocks, int64_t *totals)
{
    if (layer->factors != NULL) {
        const int16_t *factors = layer->factors + factor;

        for (int32_t i = 0; i < filters; i++) {
            totals[i] += (int64_t)sums[i] * *factors;
            factors += blocks;
        }
    } else if (layer->powers != NULL) {
        const uint8_t *powers = layer->powers + factor;

        for (int32_t i = 0; i < filters; i++) {
            totals[i] += (int64_t)sums[i] * ((int32_t)1 << *powers); /* at most 2^24 */
            powers += blocks;
        }
    } else {
        for (int32_t i = 0; i < filters; i++) {
            totals[i] += sums[i];
        }
    }
}

/** Products of one block of channels under all taps. */
static void block_sums(const struct tile *tile, const int8_t *image, const struct taps *rows,
    const struct taps *columns, int32_t first, int32_t sums[TG_FILTERS])
{
    const struct tg_coded_convolution *layer = tile->layer;
    const struct tg_geometry *shape = &layer->shape;
    const int32_t row_step = shape->dilation_height * shape->input_width * shape->input_channels;
    const int32_t column_step = shape->dilation_width * shape->input_channels;
    const int32_t numbers_step = tile->filters * shape->filter_depth;
    const int8_t *line = image + (rows->place * shape->input_width + columns->place) * shape->input_channels + first;

    for (int32_t i = rows->first; i < rows->end; i++) {
        const int16_t *numbers =
            tile->numbers + (i * shape->filter_width + columns->first) * numbers_step + tile->filters * first;
        const int8_t *pixel = line;

        for (int32_t j = columns->first; j < columns->end; j++) {
            if (tile->filters == 1) {
                sums[0] += tg_dot_s8_s16(pixel, layer->input_offset, numbers, layer->block);
            } else {
                tg_add_4_s8_s16(pixel, layer->input_offset, numbers, layer->block, sums);
            }
            pixel += column_step;
            numbers += numbers_step;
        }
        line += row_step;
    }
}

/** Sums of 64 bits with their starts, in 32. */
static void shorten(
    const struct tg_coded_convolution *layer, int32_t channel, int32_t filters, const int64_t *totals, int32_t *sums)
{
    if (layer->start != NULL) {
        const int64_t *start = layer->start + channel;
        const uint8_t *lost = layer->sum_shift + channel;

        for (int32_t i = 0; i < filters; i++) {
            sums[i] = (int32_t)((totals[i] + start[i]) >> lost[i]);
        }
    } else if (layer->bias != NULL) {
        for (int32_t i = 0; i < filters; i++) {
            sums[i] = (int32_t)((uint32_t)totals[i] + (uint32_t)layer->bias[channel + i]); /* wraps */
        }
    } else {
        for (int32_t i = 0; i < filters; i++) {
            sums[i] = (int32_t)totals[i];
        }
    }
}

static void requantize(
    const struct tg_coded_convolution *layer, int32_t channel, int32_t filters, const int32_t *sums, int8_t *output)
{
    const int32_t *multiplier = layer->multiplier + channel;
    const int32_t *shift = layer->shift + channel;
    const int32_t zero_point = layer->output_zero_point;
    const int32_t min = layer->min;
    const int32_t max = layer->max;

    for (int32_t i = 0; i < filters; i++) {
        output[i] = tg_stored_s8(tg_scale(sums[i], multiplier[i], shift[i]), zero_point, min, max);
    }
}

/** One pixel of the channels of a tile. */
static void convolve_pixel(
    const struct tile *tile, const int8_t *image, const struct taps *rows, const struct taps *columns, int8_t *output)
{
    const struct tg_coded_convolution *layer = tile->layer;
    const int32_t blocks = layer->shape.filter_depth / layer->block;
    int32_t sums[TG_FILTERS] = {0};
    int64_t totals[TG_FILTERS] = {0};

    for (int32_t block = 0; block < blocks; block++) {
        for (int32_t i = 0; i < TG_FILTERS; i++) {
            sums[i] = 0;
        }
        block_sums(tile, image, rows, columns, block * layer->block, sums);
        add_scaled(layer, sums, tile->filters, tile->channel * blocks + block, blocks, totals);
    }
    shorten(layer, tile->channel, tile->filters, totals, sums);
    requantize(layer, tile->channel, tile->filters, sums, output);
}

/** The channels of a tile, of one image. */
static void convolve_tile(const struct tile *tile, const int8_t *image, int8_t *output)
{
    const struct tg_geometry *shape = &tile->layer->shape;

    for (int32_t y = 0; y < shape->output_height; y++) {
        const struct taps rows = taps_over(y * shape->stride_height - shape->pad_top, shape->input_height,
            shape->filter_height, shape->dilation_height);

        for (int32_t x = 0; x < shape->output_width; x++) {
            const struct taps columns = taps_over(x * shape->stride_width - shape->pad_left, shape->input_width,
                shape->filter_width, shape->dilation_width);

            convolve_pixel(tile, image, &rows, &columns, output);
            output += shape->output_channels;
        }
    }
}

void tg_convolve_coded_s8(
    const struct tg_coded_convolution *layer, const int8_t *input, int8_t *output, int16_t *scratch)
{
    const struct tg_geometry *shape = &layer->shape;
    const int32_t input_elements = shape->input_height * shape->input_width * shape->input_channels;
    const int32_t output_elements = shape->output_height * shape->output_width * shape->output_channels;
    struct tile tile = {layer, scratch, 0, 1};

    for (; tile.channel < shape->output_channels; tile.channel += tile.filters) {
        const int32_t group = tile.channel / shape->filters_of_group;
        const int32_t left = (group + 1) * shape->filters_of_group - tile.channel;

        tile.filters = layer->filters_at_once == TG_FILTERS && left >= TG_FILTERS ? TG_FILTERS : 1;
        for (int32_t i = 0; i < tile.filters; i++) {
            decode(layer, tile.channel + i, tile.filters, i, scratch);
        }
        for (int32_t batch = 0; batch < shape->batches; batch++) {
            convolve_tile(&tile, input + batch * input_elements + group * shape->filter_depth,
                output + batch * output_elements + tile.channel);
        }
    }
}
