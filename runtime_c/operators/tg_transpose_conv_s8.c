/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>

#include "tg_fixed_point.h"
#include "tg_transpose_conv.h"

/** Sum of weights times inputs, over the channels of one pixel. */
static int32_t dot_product(const int8_t *weights, const int8_t *pixel, int32_t channels, int32_t offset)
{
    int32_t sum = 0;
    for (int32_t c = 0; c < channels; c++) {
        sum += weights[c] * (pixel[c] + offset);
    }
    return sum;
}

/** What all inputs that reach one output position add to it; y and x count from the uncut corner. */
static int32_t gather(
    const struct tg_transpose_conv_params *p, const int8_t *filter, const int8_t *input, int32_t y, int32_t x)
{
    const int32_t channels = p->input_channels;
    int32_t sum = 0;
    for (int32_t ky = y % p->stride_height; ky < p->filter_height && ky <= y; ky += p->stride_height) {
        const int32_t in_y = (y - ky) / p->stride_height;
        if (in_y >= p->input_height) {
            continue;
        }
        for (int32_t kx = x % p->stride_width; kx < p->filter_width && kx <= x; kx += p->stride_width) {
            const int32_t in_x = (x - kx) / p->stride_width;
            if (in_x < p->input_width) {
                sum += dot_product(filter + (ky * p->filter_width + kx) * channels,
                    input + (in_y * p->input_width + in_x) * channels, channels, p->input_offset);
            }
        }
    }
    return sum;
}

void tg_transpose_conv_s8(const struct tg_transpose_conv_params *params, const struct tg_transpose_conv_tables *tables,
    const int8_t *input, int8_t *output)
{
    const int32_t filter_size = params->filter_height * params->filter_width * params->input_channels;

    for (int32_t batch = 0; batch < params->batches; batch++) {
        for (int32_t y = params->top; y < params->top + params->output_height; y++) {
            for (int32_t x = params->left; x < params->left + params->output_width; x++) {
                for (int32_t c = 0; c < params->output_channels; c++) {
                    const int32_t bias = tables->bias != NULL ? tables->bias[c] : 0;
                    const int32_t sum = bias + gather(params, tables->weights + c * filter_size, input, y, x);
                    const int32_t scaled = tg_scale(sum, tables->multiplier[c], tables->shift[c]);
                    *output++ =
                        tg_stored_s8(scaled, params->output_zero_point, params->activation_min, params->activation_max);
                }
            }
        }
        input += params->input_height * params->input_width * params->input_channels;
    }
}
