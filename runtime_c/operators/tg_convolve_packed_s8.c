/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_packed_channel.h"

/** The filter of output channel `channel`, one byte a weight. Elements do not straddle bytes. */
static void unpack(const struct tg_packed_convolution *layer, int32_t channel, int8_t *filter)
{
    const int32_t count = layer->shape.filter_height * layer->shape.filter_width * layer->shape.filter_depth;
    const int32_t bits = layer->weight_bits;
    const int32_t unused = 32 - bits;
    int32_t position = channel * count * bits;

    for (int32_t i = 0; i < count; i++) {
        const uint32_t code = (uint32_t)(uint8_t)layer->weights[position >> 3] >> (position & 7);

        filter[i] = (int8_t)(bits == 1 ? (int32_t)(code & 1U) * 2 - 1 : (int32_t)(code << unused) >> unused);
        position += bits;
    }
}

void tg_convolve_packed_s8(
    const struct tg_packed_convolution *layer, const int8_t *input, int8_t *output, int8_t *scratch)
{
    const int32_t input_elements = layer->shape.input_height * layer->shape.input_width * layer->shape.input_channels;
    const int32_t output_elements =
        layer->shape.output_height * layer->shape.output_width * layer->shape.output_channels;

    for (int32_t channel = 0; channel < layer->shape.output_channels; channel++) {
        const int32_t group = channel / layer->shape.filters_of_group;

        unpack(layer, channel, scratch);
        for (int32_t batch = 0; batch < layer->shape.batches; batch++) {
            tg_packed_channel(layer, input + batch * input_elements + group * layer->shape.filter_depth, scratch,
                channel, output + batch * output_elements + channel);
        }
    }
}
