/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_window_f32.h"

void tg_convolve_f32(
    const struct tg_window *window, const float *input, const float *weights, const float *bias, float *output)
{
    const int32_t channels = window->output.channels;
    const int32_t depth = window->input.channels / window->groups;
    const int32_t filter = window->kernel_height * window->kernel_width * depth;

    for (int32_t batch = 0; batch < window->batches; batch++) {
        for (int32_t y = 0; y < window->output.height; y++) {
            for (int32_t x = 0; x < window->output.width; x++) {
                const int32_t row = y * window->stride_height - window->top;
                const int32_t column = x * window->stride_width - window->left;
                for (int32_t channel = 0; channel < channels; channel++) {
                    const int32_t group = channel / (channels / window->groups);
                    const float sum = tg_window_sum_f32(
                        window, input + group * depth, weights + channel * filter, row, column, depth);
                    *output++ = tg_limited_f32(bias ? sum + bias[channel] : sum, &window->bounds);
                }
            }
        }
        input += window->input.height * window->input.width * window->input.channels;
    }
}
