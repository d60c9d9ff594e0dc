/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_packed_channel.h"

void tg_convolve_s8(const struct tg_packed_convolution *layer, const int8_t *input, int8_t *output, int8_t *scratch)
{
    const int32_t input_elements = layer->input_height * layer->input_width * layer->input_channels;
    const int32_t output_elements = layer->output_height * layer->output_width * layer->output_channels;
    const int32_t filter_elements = layer->filter_height * layer->filter_width * layer->filter_depth;
    const int8_t *filter = layer->weights;

    (void)scratch;
    for (int32_t channel = 0; channel < layer->output_channels; channel++) {
        const int32_t group = channel / layer->filters_of_group;

        for (int32_t batch = 0; batch < layer->batches; batch++) {
            tg_packed_channel(layer, input + batch * input_elements + group * layer->filter_depth, filter, channel,
                output + batch * output_elements + channel);
        }
        filter += filter_elements;
    }
}
