/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_listed_f32.h"
#include "tg_window_f32.h"

/** One filter; `stored` counts the stored weights before it, and then those of it, too. */
static void expand(
    const struct tg_listed *weights, int32_t channel, int32_t taps, int32_t depth, int32_t *stored, float *filter)
{
    const float *levels = tg_levels_of(weights, channel);
    int32_t weight = channel * taps * depth;

    for (int32_t tap = 0; tap < taps; tap++) {
        int32_t block = channel * weights->codes.next_scale;

        for (int32_t first = 0; first < depth; first += weights->codes.block) {
            const float scale = tg_scale_of(&weights->codes, block);
            const float zero = tg_zero_of(&weights->codes, block);

            for (int32_t i = 0; i < weights->codes.block; i++) {
                if (tg_is_stored(&weights->list, weight)) {
                    *filter = scale * tg_listed_number(weights, levels, zero, *stored);
                    *stored += 1;
                } else {
                    *filter = 0.0f;
                }
                filter++;
                weight++;
            }
            block++;
        }
    }
}

void tg_convolve_listed_f32(const struct tg_window *window, const struct tg_listed *weights, const float *bias,
    const float *input, float *output, float *scratch)
{
    const int32_t channels = window->output.channels;
    const int32_t depth = window->input.channels / window->groups;
    const int32_t taps = window->kernel_height * window->kernel_width;
    const int32_t input_image = window->input.height * window->input.width * window->input.channels;
    const int32_t output_image = window->output.height * window->output.width * channels;
    int32_t stored = 0;

    for (int32_t channel = 0; channel < channels; channel++) {
        const int32_t group = channel / (channels / window->groups);

        expand(weights, channel, taps, depth, &stored, scratch);
        for (int32_t batch = 0; batch < window->batches; batch++) {
            tg_window_channel_f32(window, input + batch * input_image + group * depth, scratch,
                bias == NULL ? 0.0f : bias[channel], output + batch * output_image + channel);
        }
    }
}
