/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_arithmetic_f32.h"

/** One output channel of one pixel: what the input pixels that reach it add up to. */
static float gathered(
    const struct tg_window *window, const float *image, const float *weights, int32_t row, int32_t column)
{
    const int32_t depth = window->input.channels / window->groups;
    float sum = 0.0f;

    for (int32_t y = 0; y < window->kernel_height; y++) {
        const int32_t above = row - y * window->dilation_height;
        if (above < 0 || above % window->stride_height != 0 || above / window->stride_height >= window->input.height) {
            continue;
        }
        for (int32_t x = 0; x < window->kernel_width; x++) {
            const int32_t before = column - x * window->dilation_width;
            if (before < 0 || before % window->stride_width != 0 ||
                before / window->stride_width >= window->input.width) {
                continue;
            }
            sum += tg_dot_f32(
                image + (above / window->stride_height * window->input.width + before / window->stride_width) *
                            window->input.channels,
                weights + (y * window->kernel_width + x) * depth, depth);
        }
    }
    return sum;
}

void tg_transpose_convolve_f32(
    const struct tg_window *window, const float *input, const float *weights, const float *bias, float *output)
{
    const int32_t channels = window->output.channels;
    const int32_t depth = window->input.channels / window->groups;
    const int32_t filter = window->kernel_height * window->kernel_width * depth;

    for (int32_t batch = 0; batch < window->batches; batch++) {
        for (int32_t y = 0; y < window->output.height; y++) {
            for (int32_t x = 0; x < window->output.width; x++) {
                for (int32_t channel = 0; channel < channels; channel++) {
                    const int32_t group = channel / (channels / window->groups);
                    const float sum = gathered(
                        window, input + group * depth, weights + channel * filter, y + window->top, x + window->left);
                    *output++ = tg_limited_f32(bias ? sum + bias[channel] : sum, &window->bounds);
                }
            }
        }
        input += window->input.height * window->input.width * window->input.channels;
    }
}
