/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_planes.h"
#include "tg_native_arithmetic.h"

void tg_native_planes(const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_plane_function *run)
{
    const struct tg_native_gather shape = {
        .position_step = layer->input_position_step,
        .positions = layer->input_positions,
        .lines = layer->input_lines,
        .line_skip = layer->input_line_step - layer->input_positions * layer->input_position_step,
        .plane_skip = 2 * (layer->plane_positions - layer->input_positions),
    };
    int16_t *const plane = scratch;
    int16_t *const inside = plane + layer->first_line * layer->plane_positions + layer->first_position;
    tg_aliased_word *const words = scratch;
    const int32_t plane_words = layer->plane_words;
    const uint32_t padding = tg_pair(layer->zero_point, layer->zero_point);

    for (int32_t i = 0; i < plane_words; i++) {
        words[i] = padding;
    }
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        const int32_t *stream = layer->stream;
        for (int32_t channel = 0; channel < layer->channels; channel++) {
            tg_native_gather(input + channel, inside, &shape);
            run(stream, plane, output + channel, &layer->plane);
            stream += layer->channel_words;
        }
        tg_native_clamp_s8(output, layer->output_bytes, layer->min, layer->max);
        input += layer->input_bytes;
        output += layer->output_bytes;
    }
}
