/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_arithmetic_f32.h"

/** Mean of one channel under the window. */
static float pooled(const struct tg_window *window, const float *values, int32_t row, int32_t column)
{
    const struct tg_taps rows =
        tg_taps_within(row, window->kernel_height, window->dilation_height, window->input.height);
    const struct tg_taps columns =
        tg_taps_within(column, window->kernel_width, window->dilation_width, window->input.width);
    float sum = 0.0f;

    for (int32_t y = rows.first; y < rows.end; y++) {
        const int32_t line = (row + y * window->dilation_height) * window->input.width;
        for (int32_t x = columns.first; x < columns.end; x++) {
            const float value = values[(line + column + x * window->dilation_width) * window->input.channels];
            sum += value;
        }
    }
    return sum / (float)((rows.end - rows.first) * (columns.end - columns.first));
}

void tg_average_pool_f32(const struct tg_window *window, const float *input, float *output)
{
    for (int32_t batch = 0; batch < window->batches; batch++) {
        for (int32_t y = 0; y < window->output.height; y++) {
            for (int32_t x = 0; x < window->output.width; x++) {
                const int32_t row = y * window->stride_height - window->top;
                const int32_t column = x * window->stride_width - window->left;
                for (int32_t channel = 0; channel < window->input.channels; channel++) {
                    *output++ = tg_limited_f32(pooled(window, input + channel, row, column), &window->bounds);
                }
            }
        }
        input += window->input.height * window->input.width * window->input.channels;
    }
}
