/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_packed_channel.h"

void tg_convolve_s8(const struct tg_packed_convolution *layer, const int8_t *input, int8_t *output, int8_t *scratch)
{
    const int32_t input_elements = layer->shape.input_height * layer->shape.input_width * layer->shape.input_channels;
    const int32_t output_elements =
        layer->shape.output_height * layer->shape.output_width * layer->shape.output_channels;
    const int32_t filter_elements = layer->shape.filter_height * layer->shape.filter_width * layer->shape.filter_depth;
    const int8_t *filter = layer->weights;

    (void)scratch;
    for (int32_t channel = 0; channel < layer->shape.output_channels; channel++) {
        const int32_t group = channel / layer->shape.filters_of_group;

        for (int32_t batch = 0; batch < layer->shape.batches; batch++) {
            tg_packed_channel(layer, input + batch * input_elements + group * layer->shape.filter_depth, filter,
                channel, output + batch * output_elements + channel);
        }
        filter += filter_elements;
    }
}
