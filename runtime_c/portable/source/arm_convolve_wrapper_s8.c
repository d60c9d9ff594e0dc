/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one convolution that all arm_convolve_*_s8 functions share.
 */
#include "arm_nnfunctions.h"
#include "dot_product.h"
#include "requantize.h"

arm_cmsis_nn_status arm_convolve_wrapper_s8(const cmsis_nn_context *ctx,
                                            const cmsis_nn_conv_params *conv_params,
                                            const cmsis_nn_per_channel_quant_params *quant_params,
                                            const cmsis_nn_dims *input_dims,
                                            const int8_t *input_data,
                                            const cmsis_nn_dims *filter_dims,
                                            const int8_t *filter_data,
                                            const cmsis_nn_dims *bias_dims,
                                            const int32_t *bias_data,
                                            const cmsis_nn_dims *output_dims,
                                            int8_t *output_data)
{
    const int32_t input_h = input_dims->h;
    const int32_t input_w = input_dims->w;
    const int32_t input_c = input_dims->c;
    const int32_t filter_h = filter_dims->h;
    const int32_t filter_w = filter_dims->w;
    const int32_t filter_c = filter_dims->c;
    const int32_t groups = input_c / filter_c;
    const int32_t group_outputs = groups > 0 ? output_dims->c / groups : 0;
    const int32_t tap_step = conv_params->dilation.w * input_c;
    (void)ctx;
    (void)bias_dims;

    if (groups * filter_c != input_c || groups * group_outputs != output_dims->c)
    {
        return ARM_CMSIS_NN_ARG_ERROR;
    }

    for (int32_t batch = 0; batch < input_dims->n; batch++)
    {
        int32_t top = -conv_params->padding.h;
        for (int32_t out_y = 0; out_y < output_dims->h; out_y++)
        {
            int32_t left = -conv_params->padding.w;
            for (int32_t out_x = 0; out_x < output_dims->w; out_x++)
            {
                /* Filter columns first_tap .. first_tap + taps - 1 lie inside the input, the first one at column x. */
                int32_t first_tap = 0;
                int32_t x = left;
                for (; x < 0; x += conv_params->dilation.w)
                {
                    first_tap++;
                }
                int32_t taps = 0;
                for (int32_t tap_x = x; tap_x < input_w && first_tap + taps < filter_w; tap_x += conv_params->dilation.w)
                {
                    taps++;
                }
                /* Neighbouring taps of all channels are neighbours in memory: one long dot product. */
                int32_t run = filter_c;
                if (tap_step == run)
                {
                    run *= taps;
                    taps = 1;
                }

                const int8_t *filter = filter_data + first_tap * filter_c;
                int32_t out_c = 0;
                for (int32_t in_c = 0; in_c < input_c; in_c += filter_c)
                {
                    for (int32_t i = 0; i < group_outputs; i++, out_c++)
                    {
                        uint32_t sum = bias_data != NULL ? (uint32_t)bias_data[out_c] : 0U;
                        int32_t y = top;
                        for (int32_t filter_y = 0; filter_y < filter_h; filter_y++)
                        {
                            if (y >= 0 && y < input_h)
                            {
                                const int8_t *input = input_data + (y * input_w + x) * input_c + in_c;
                                const int8_t *weights = filter;
                                for (int32_t tap = 0; tap < taps; tap++)
                                {
                                    sum = dot_product(sum, input, conv_params->input_offset, weights, run);
                                    input += tap_step;
                                    weights += run;
                                }
                            }
                            filter += filter_w * filter_c;
                            y += conv_params->dilation.h;
                        }
                        const int32_t scaled =
                            requantize((int32_t)sum, quant_params->multiplier[out_c], quant_params->shift[out_c]);
                        *output_data++ = clamp_s8(wrapping_add(scaled, conv_params->output_offset),
                                                  conv_params->activation.min, conv_params->activation.max);
                    }
                }
                left += conv_params->stride.w;
            }
            top += conv_params->stride.h;
        }
        input_data += input_h * input_w * input_c;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
