/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one depthwise convolution that all arm_depthwise_conv_*_s8 functions share.
 */
#include "arm_nnfunctions.h"
#include "requantize.h"

arm_cmsis_nn_status arm_depthwise_conv_s8(const cmsis_nn_context *ctx,
                                          const cmsis_nn_dw_conv_params *dw_conv_params,
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
    const int32_t output_c = output_dims->c;
    const int32_t filter_h = filter_dims->h;
    const int32_t filter_w = filter_dims->w;
    const int32_t dilation_w = dw_conv_params->dilation.w;
    (void)ctx;
    (void)bias_dims;

    for (int32_t batch = 0; batch < input_dims->n; batch++)
    {
        int32_t top = -dw_conv_params->padding.h;
        for (int32_t out_y = 0; out_y < output_dims->h; out_y++)
        {
            int32_t left = -dw_conv_params->padding.w;
            for (int32_t out_x = 0; out_x < output_dims->w; out_x++)
            {
                /* Filter columns first_tap .. last_tap - 1 lie inside the input, the first one at column x. */
                int32_t first_tap = 0;
                int32_t x = left;
                for (; x < 0; x += dilation_w)
                {
                    first_tap++;
                }
                int32_t last_tap = first_tap;
                for (int32_t tap_x = x; tap_x < input_w && last_tap < filter_w; tap_x += dilation_w)
                {
                    last_tap++;
                }

                int32_t in_c = 0;
                int32_t multiple = 0;
                for (int32_t out_c = 0; out_c < output_c; out_c++)
                {
                    uint32_t sum = bias_data != NULL ? (uint32_t)bias_data[out_c] : 0U;
                    int32_t y = top;
                    for (int32_t filter_y = 0; filter_y < filter_h; filter_y++)
                    {
                        if (y >= 0 && y < input_h)
                        {
                            const int8_t *input = input_data + (y * input_w + x) * input_c + in_c;
                            const int8_t *weights = filter_data + (filter_y * filter_w + first_tap) * output_c + out_c;
                            for (int32_t tap = first_tap; tap < last_tap; tap++)
                            {
                                sum += (uint32_t)((*input + dw_conv_params->input_offset) * *weights);
                                input += dilation_w * input_c;
                                weights += output_c;
                            }
                        }
                        y += dw_conv_params->dilation.h;
                    }
                    const int32_t scaled =
                        requantize((int32_t)sum, quant_params->multiplier[out_c], quant_params->shift[out_c]);
                    *output_data++ = clamp_s8(wrapping_add(scaled, dw_conv_params->output_offset),
                                              dw_conv_params->activation.min, dw_conv_params->activation.max);
                    if (++multiple == dw_conv_params->ch_mult)
                    {
                        multiple = 0;
                        in_c++;
                    }
                }
                left += dw_conv_params->stride.w;
            }
            top += dw_conv_params->stride.h;
        }
        input_data += input_h * input_w * input_c;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
