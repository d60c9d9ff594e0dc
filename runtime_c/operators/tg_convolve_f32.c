/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_arithmetic_f32.h"

/** One output channel of one pixel: `start` is the input pixel under the first tap, which may lie outside. */
static float convolved(const struct tg_window *window, const float *image, const float *weights, int32_t row,
    int32_t column, int32_t depth)
{
    const struct tg_taps rows =
        tg_taps_within(row, window->kernel_height, window->dilation_height, window->input.height);
    const struct tg_taps columns =
        tg_taps_within(column, window->kernel_width, window->dilation_width, window->input.width);
    float sum = 0.0f;

    for (int32_t y = rows.first; y < rows.end; y++) {
        const int32_t line = (row + y * window->dilation_height) * window->input.width;
        for (int32_t x = columns.first; x < columns.end; x++) {
            const int32_t pixel = line + column + x * window->dilation_width;
            sum += tg_dot_f32(
                image + pixel * window->input.channels, weights + (y * window->kernel_width + x) * depth, depth);
        }
    }
    return sum;
}

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
                    const float sum =
                        convolved(window, input + group * depth, weights + channel * filter, row, column, depth);
                    *output++ = tg_limited_f32(bias ? sum + bias[channel] : sum, &window->bounds);
                }
            }
        }
        input += window->input.height * window->input.width * window->input.channels;
    }
}
