/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_planes.h"
#include "tg_native_arithmetic.h"

/* One channel of the input as 16-bit values. */
static void expand(const struct tg_native_depthwise *layer, const int8_t *input, int16_t *plane)
{
    const int32_t step = layer->input_position_step;
    const int32_t positions = layer->input_positions;

    plane += layer->first_line * layer->plane_positions + layer->first_position;
    for (int32_t line = 0; line < layer->input_lines; line++) {
        const int8_t *from = input;
        int16_t *to = plane;
        int32_t left = positions;
        for (; left >= 4; left -= 4) {
            to[0] = from[0];
            to[1] = from[step];
            from += 2 * step;
            to[2] = from[0];
            to[3] = from[step];
            from += 2 * step;
            to += 4;
        }
        for (; left > 0; left--) {
            *to++ = *from;
            from += step;
        }
        input += layer->input_line_step;
        plane += layer->plane_positions;
    }
}

void tg_native_planes(const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_plane_function *run)
{
    int16_t *const plane = scratch;
    uint32_t *const words = scratch;

    for (int32_t i = 0; i < layer->plane_lines * layer->plane_positions / 2; i++) {
        words[i] = tg_pair(layer->zero_point, layer->zero_point);
    }
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        for (int32_t channel = 0; channel < layer->channels; channel++) {
            expand(layer, input + channel, plane);
            run(layer->stream + channel * TG_NATIVE_CHANNEL_WORDS, plane, output + channel, &layer->plane);
        }
        tg_native_clamp_s8(output, layer->output_bytes, layer->min, layer->max);
        input += layer->input_bytes;
        output += layer->output_bytes;
    }
}
