/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_WINDOW_F32_H
#define TG_WINDOW_F32_H

#include "tg_arithmetic_f32.h"

/** One output channel of one pixel of a convolution: `row` and `column` of the input under the first tap may lie
 * outside. */
static inline float tg_window_sum_f32(const struct tg_window *window, const float *image, const float *weights,
    int32_t row, int32_t column, int32_t depth)
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

/** One output channel of one image, from its filter and bias. */
static inline void tg_window_channel_f32(
    const struct tg_window *window, const float *image, const float *weights, float bias, float *output)
{
    const int32_t depth = window->input.channels / window->groups;

    for (int32_t y = 0; y < window->output.height; y++) {
        for (int32_t x = 0; x < window->output.width; x++) {
            const int32_t row = y * window->stride_height - window->top;
            const int32_t column = x * window->stride_width - window->left;
            const float sum = tg_window_sum_f32(window, image, weights, row, column, depth);

            *output = tg_limited_f32(sum + bias, &window->bounds);
            output += window->output.channels;
        }
    }
}

#endif
