/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A layer as an engine computes it, for stored values of type TG_VALUE; the file that includes this says what follows
 * from a sum: `static TG_VALUE stored(const struct tg_engine_layer *layer, int64_t sum, int32_t channel)`.
 */
#include "tg_engine.h"

#include <stddef.h>

#define TG_NOISE_MEAN 510

static TG_VALUE stored(const struct tg_engine_layer *layer, int64_t sum, int32_t channel);

/** What the accumulator holds of a sum. */
static int64_t held(const struct tg_engine_layer *layer, int64_t sum)
{
    const int32_t unused = 64 - layer->accumulator_bits;
    const int64_t limit = (int64_t)((UINT64_C(1) << (layer->accumulator_bits - 1)) - 1U);

    if (layer->saturates == 0) {
        return (int64_t)((uint64_t)sum << unused) >> unused;
    }
    if (sum < -limit - 1) {
        return -limit - 1;
    }
    return sum > limit ? limit : sum;
}

/** Weight `index` of all; elements do not straddle bytes. */
static int32_t weight(const struct tg_engine_layer *layer, int32_t index)
{
    const int32_t bits = layer->weight_bits;
    const int32_t position = index * bits;
    const uint32_t code = (uint32_t)(uint8_t)layer->weights[position >> 3] >> (position & 7);
    const int32_t unused = 32 - bits;

    return bits == 1 ? (int32_t)(code & 1U) * 2 - 1 : (int32_t)(code << unused) >> unused;
}

/** Noise of the analog sum number `cell`: the sum of four bytes of a hash (MurmurHash3's finalizer), times the gain. */
static int64_t noise(const struct tg_crossbar *crossbar, uint32_t cell)
{
    uint32_t mixed = crossbar->seed ^ (cell * 0x9E3779B9U);
    int32_t units = -TG_NOISE_MEAN;

    mixed = (mixed ^ (mixed >> 16)) * 0x85EBCA6BU;
    mixed = (mixed ^ (mixed >> 13)) * 0xC2B2AE35U;
    mixed ^= mixed >> 16;
    for (int32_t byte = 0; byte < 4; byte++) {
        units += (int32_t)((mixed >> (8 * byte)) & 255U);
    }
    return (units * crossbar->noise_gain + (1 << 15)) >> 16;
}

/** What the ADC makes of an analog sum, in the sum's unit. */
static int64_t digital(const struct tg_crossbar *crossbar, int64_t sum)
{
    const int64_t half = crossbar->adc_shift > 0 ? (int64_t)1 << (crossbar->adc_shift - 1) : 0;
    const int64_t limit = (int64_t)1 << (crossbar->adc_bits - 1);
    int64_t code = (sum + half) >> crossbar->adc_shift;

    if (code < -limit) {
        code = -limit;
    } else if (code >= limit) {
        code = limit - 1;
    }
    return code * ((int64_t)1 << crossbar->adc_shift);
}

/** Where the products of an output go: to the accumulator, or first into a block of the crossbar. */
struct sums {
    int64_t accumulator;
    int64_t block;
    int32_t rows; /**< of the block, so far */
    uint32_t cell;
};

/** The block of the crossbar is full, or the last one. */
static void convert(const struct tg_engine_layer *layer, struct sums *sums)
{
    const int64_t current = sums->block + noise(&layer->crossbar, sums->cell);

    sums->accumulator = held(layer, sums->accumulator + digital(&layer->crossbar, current));
    sums->block = 0;
    sums->rows = 0;
    sums->cell += (uint32_t)layer->shape.output_channels;
}

static void add(const struct tg_engine_layer *layer, struct sums *sums, int64_t product)
{
    if (layer->crossbar.rows == 0) {
        sums->accumulator = held(layer, sums->accumulator + product);
        return;
    }
    sums->block += product;
    sums->rows++;
    if (sums->rows == layer->crossbar.rows) {
        convert(layer, sums);
    }
}

/** Adds the products under the window whose first row and column (perhaps in the padding) are `top` and `left`. */
static void add_window(const struct tg_engine_layer *layer, struct sums *sums, const TG_VALUE *image, int32_t channel,
    int32_t top, int32_t left)
{
    int32_t index = channel * layer->shape.filter_height * layer->shape.filter_width * layer->shape.filter_depth;

    for (int32_t i = 0; i < layer->shape.filter_height; i++) {
        const int32_t row = top + i * layer->shape.dilation_height;

        for (int32_t j = 0; j < layer->shape.filter_width; j++) {
            const int32_t column = left + j * layer->shape.dilation_width;
            const int inside =
                row >= 0 && row < layer->shape.input_height && column >= 0 && column < layer->shape.input_width;
            const int32_t first = inside ? (row * layer->shape.input_width + column) * layer->shape.input_channels : 0;

            for (int32_t k = 0; k < layer->shape.filter_depth; k++) {
                const int64_t value = inside ? image[first + k] + layer->input_offset : 0;

                add(layer, sums, value * weight(layer, index));
                index++;
            }
        }
    }
}

/** All output channels of pixel number `pixel` of an image. */
static void compute_pixel(
    const struct tg_engine_layer *layer, const TG_VALUE *image, int32_t y, int32_t x, TG_VALUE *output)
{
    const int32_t top = y * layer->shape.stride_height - layer->shape.pad_top;
    const int32_t left = x * layer->shape.stride_width - layer->shape.pad_left;
    const int32_t products = layer->shape.filter_height * layer->shape.filter_width * layer->shape.filter_depth;
    const int32_t rows = layer->crossbar.rows;
    const int32_t blocks = rows == 0 ? 1 : (products + rows - 1) / rows;
    const uint32_t cell =
        (uint32_t)((y * layer->shape.output_width + x) * blocks) * (uint32_t)layer->shape.output_channels;

    for (int32_t channel = 0; channel < layer->shape.output_channels; channel++) {
        struct sums sums = {.cell = cell + (uint32_t)channel};

        add_window(layer, &sums, image + channel / layer->shape.filters_of_group * layer->shape.filter_depth, channel,
            top, left);
        if (sums.rows > 0) {
            convert(layer, &sums);
        }
        output[channel] = stored(layer, sums.accumulator, channel);
    }
}

static void compute(const struct tg_engine_layer *layer, const TG_VALUE *input, TG_VALUE *output)
{
    for (int32_t batch = 0; batch < layer->shape.batches; batch++) {
        for (int32_t y = 0; y < layer->shape.output_height; y++) {
            for (int32_t x = 0; x < layer->shape.output_width; x++) {
                compute_pixel(layer, input, y, x, output);
                output += layer->shape.output_channels;
            }
        }
        input += layer->shape.input_height * layer->shape.input_width * layer->shape.input_channels;
    }
}

/** value / 2^bits, to the nearest (ties up). */
static int64_t shifted(int64_t value, int32_t bits)
{
    return bits > 0 ? (value + ((int64_t)1 << (bits - 1))) >> bits : value * ((int64_t)1 << -bits);
}
