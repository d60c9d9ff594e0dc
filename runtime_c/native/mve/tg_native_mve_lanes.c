/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Filters on channels side by side: by how sums are requantized.
 */

/* file: tg_native_mve_lanes.c */

#include <stddef.h>

#include "tg_native_mve_lanes.h"
#include "tg_native_mve_copy.h"

/* What lies under each element of the filter; all that is not inside the input is read from `padding`. */
static void find_taps(const struct tg_native_mve_depthwise_lanes *layer, const int8_t *input, const int8_t *padding,
    int32_t line, int32_t position, const int8_t **taps)
{
    for (int32_t i = 0; i < layer->filter_lines; i++, line += layer->line_dilation) {
        const int32_t is_inside = line >= 0 && line < layer->input_lines;
        int32_t x = position;
        for (int32_t j = 0; j < layer->filter_positions; j++, x += layer->position_dilation) {
            *taps++ = is_inside && x >= 0 && x < layer->input_positions
                          ? input + line * layer->input_line_step + x * layer->input_position_step
                          : padding;
        }
    }
}

/* Pixels from the one on whose filter starts at `line` and `position` that can be computed together. */
static int32_t pixels_together(
    const struct tg_native_mve_depthwise_lanes *layer, int32_t line, int32_t position, int32_t left)
{
    const int32_t last_line = line + (layer->filter_lines - 1) * layer->line_dilation;
    const int32_t last_position = position + (layer->filter_positions - 1) * layer->position_dilation;
    int32_t inside;

    if (line < 0 || last_line >= layer->input_lines || position < 0 || last_position >= layer->input_positions) {
        return 1;
    }
    inside = (layer->input_positions - 1 - last_position) / layer->position_stride + 1;
    return inside < left ? inside : left;
}

static void convolve_line(const struct tg_native_mve_depthwise_lanes *layer, const int8_t *input, int8_t *output,
    const int8_t *padding, int32_t line, tg_native_mve_lanes_filter *filter)
{
    const int32_t elements = layer->filter_lines * layer->filter_positions;
    const int8_t *taps[TG_MVE_MOST_TAPS];
    int32_t position = -layer->first_position;
    struct tg_native_mve_lanes lanes = {
        .taps = taps,
        .stream = layer->stream,
        .output = output,
        .input_step = layer->position_stride * layer->input_position_step,
        .output_gap = layer->output_position_step - layer->channels,
        .channels = layer->channels,
        .pairs = elements / 2,
        .is_odd = elements % 2,
        .zero_point = layer->output_zero_point,
        .min = layer->min,
        .max = layer->max,
    };

    for (int32_t left = layer->output_positions; left > 0; left -= lanes.pixels) {
        lanes.pixels = pixels_together(layer, line, position, left);
        find_taps(layer, input, padding, line, position, taps);
        filter(&lanes);
        lanes.output += lanes.pixels * layer->output_position_step;
        position += lanes.pixels * layer->position_stride;
    }
}

void tg_native_mve_lanes(const struct tg_native_mve_depthwise_lanes *layer, const int8_t *input, int8_t *output,
    int8_t *scratch, tg_native_mve_lanes_filter *filter)
{
    if (scratch != NULL) {
        tg_mve_fill_rows(scratch, 0, layer->zero_point, 1, layer->channels);
    }
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        int32_t line = -layer->first_line;
        for (int32_t i = 0; i < layer->output_lines; i++, line += layer->line_stride) {
            convolve_line(layer, input, output + i * layer->output_line_step, scratch, line, filter);
        }
        input += layer->input_bytes;
        output += layer->output_bytes;
    }
}

/* file: tg_native_mve_ring_lanes.c */

#include "tg_native_mve_lanes.h"

/* What lies under each tap of a filter whose first one is on `row`, counted from the oldest of the ring. */
static void find_taps(const struct tg_native_mve_ring_depthwise *layer, const int8_t *input, const int8_t *ring,
    int32_t place, int32_t row, const int8_t **taps)
{
    for (int32_t i = 0; i < layer->taps; i++, row += layer->dilation) {
        const int32_t behind = row + place < layer->ring_rows ? 0 : layer->ring_rows;

        *taps++ = row < layer->ring_rows ? ring + (row + place - behind) * layer->channels
                                         : input + (row - layer->ring_rows) * layer->channels;
    }
}

void tg_native_mve_ring_lanes(const struct tg_native_mve_ring_depthwise *layer, const int8_t *input, const int8_t *ring,
    int32_t place, int8_t *output, tg_native_mve_lanes_filter *filter)
{
    const int8_t *taps[TG_MVE_MOST_TAPS];
    struct tg_native_mve_lanes lanes = {
        .taps = taps,
        .stream = layer->stream,
        .output = output,
        .pixels = 1,
        .channels = layer->channels,
        .pairs = layer->taps / 2,
        .is_odd = layer->taps % 2,
        .zero_point = layer->zero_point,
        .min = layer->min,
        .max = layer->max,
    };

    for (int32_t row = 0; row < layer->output_rows; row++) {
        find_taps(layer, input, ring, place, row * layer->stride, taps);
        filter(&lanes);
        lanes.output += layer->channels;
    }
}

/* file: tg_native_mve_lanes_s8.c */

#define TG_MVE_LANES_NAME tg_native_mve_lanes_s8
#define TG_MVE_LANES_IS_RELU 0

#include "tg_native_mve_lanes_body.h"

/* file: tg_native_mve_lanes_relu_s8.c */

#define TG_MVE_LANES_NAME tg_native_mve_lanes_relu_s8
#define TG_MVE_LANES_IS_RELU 1

#include "tg_native_mve_lanes_body.h"
