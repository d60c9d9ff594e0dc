/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_coded_numbers.h"
#include "tg_window_f32.h"

/** One filter. */
static void decode(const struct tg_codes *codes, int32_t channel, int32_t taps, int32_t depth, float *weights)
{
    int32_t position = channel * taps * depth * codes->bits;

    for (int32_t tap = 0; tap < taps; tap++) {
        int32_t block = channel * codes->next_scale;
        for (int32_t first = 0; first < depth; first += codes->block) {
            const float scale = tg_scale_of(codes, block);
            const float zero = tg_zero_of(codes, block);
            for (int32_t i = 0; i < codes->block; i++) {
                *weights++ = scale * (tg_number_of(codes, tg_code_at(codes, position)) - zero);
                position += codes->bits;
            }
            block++;
        }
    }
}

/** One filter of halves, the low byte first, whatever the machine. */
static void decode_halves(const struct tg_codes *codes, int32_t channel, int32_t taps, int32_t depth, float *weights)
{
    const uint8_t *half = codes->codes + (size_t)channel * (size_t)taps * (size_t)depth * 2U;

    for (int32_t tap = 0; tap < taps; tap++) {
        int32_t block = channel * codes->next_scale;
        for (int32_t first = 0; first < depth; first += codes->block) {
            const float scale = tg_scale_of(codes, block);
            for (int32_t i = 0; i < codes->block; i++) {
                *weights++ = scale * tg_half_of((uint32_t)half[0] | ((uint32_t)half[1] << 8));
                half += 2;
            }
            block++;
        }
    }
}

void tg_convolve_coded_f32(const struct tg_window *window, const struct tg_codes *codes, const float *bias,
    const float *input, float *output, float *scratch)
{
    const int32_t channels = window->output.channels;
    const int32_t depth = window->input.channels / window->groups;
    const int32_t taps = window->kernel_height * window->kernel_width;
    const int32_t input_image = window->input.height * window->input.width * window->input.channels;
    const int32_t output_image = window->output.height * window->output.width * channels;

    for (int32_t channel = 0; channel < channels; channel++) {
        const int32_t group = channel / (channels / window->groups);

        if (codes->number == TG_HALF) {
            decode_halves(codes, channel, taps, depth, scratch);
        } else {
            decode(codes, channel, taps, depth, scratch);
        }
        for (int32_t batch = 0; batch < window->batches; batch++) {
            tg_window_channel_f32(window, input + batch * input_image + group * depth, scratch,
                bias == NULL ? 0.0f : bias[channel], output + batch * output_image + channel);
        }
    }
}
