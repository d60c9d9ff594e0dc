/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_arithmetic_f32.h"

/** All output channels of one pixel. */
static void convolve_pixel(const struct tg_window *window, const float *image, const float *weights, const float *bias,
    int32_t row, int32_t column, float *output)
{
    const int32_t channels = window->output.channels;
    const int32_t multiplier = channels / window->input.channels;
    const struct tg_taps rows =
        tg_taps_within(row, window->kernel_height, window->dilation_height, window->input.height);
    const struct tg_taps columns =
        tg_taps_within(column, window->kernel_width, window->dilation_width, window->input.width);

    for (int32_t channel = 0; channel < channels; channel++) {
        const float *const values = image + channel / multiplier;
        float sum = 0.0f;
        for (int32_t y = rows.first; y < rows.end; y++) {
            const int32_t line = (row + y * window->dilation_height) * window->input.width;
            for (int32_t x = columns.first; x < columns.end; x++) {
                const int32_t pixel = line + column + x * window->dilation_width;
                sum += values[pixel * window->input.channels] *
                       weights[(y * window->kernel_width + x) * channels + channel];
            }
        }
        output[channel] = tg_limited_f32(bias ? sum + bias[channel] : sum, &window->bounds);
    }
}

void tg_depthwise_convolve_f32(
    const struct tg_window *window, const float *input, const float *weights, const float *bias, float *output)
{
    for (int32_t batch = 0; batch < window->batches; batch++) {
        for (int32_t y = 0; y < window->output.height; y++) {
            for (int32_t x = 0; x < window->output.width; x++) {
                const int32_t row = y * window->stride_height - window->top;
                const int32_t column = x * window->stride_width - window->left;
                convolve_pixel(window, input, weights, bias, row, column, output);
                output += window->output.channels;
            }
        }
        input += window->input.height * window->input.width * window->input.channels;
    }
}
