/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arm_nnfunctions.h"
#include "accumulate_taps.h"
#include "requantize.h"

arm_cmsis_nn_status arm_transpose_conv_s8(const cmsis_nn_context *ctx, const cmsis_nn_context *output_ctx,
    const cmsis_nn_transpose_conv_params *transpose_conv_params, const cmsis_nn_per_channel_quant_params *quant_params,
    const cmsis_nn_dims *input_dims, const int8_t *input_data, const cmsis_nn_dims *filter_dims,
    const int8_t *filter_data, const cmsis_nn_dims *bias_dims, const int32_t *bias_data,
    const cmsis_nn_dims *output_dims, int8_t *output_data)
{
    const int32_t input_c = input_dims->c;
    const int32_t filter_w = filter_dims->w;
    const int32_t stride_h = transpose_conv_params->stride.h;
    const int32_t stride_w = transpose_conv_params->stride.w;
    (void)ctx;
    (void)output_ctx;
    (void)bias_dims;

    for (int32_t batch = input_dims->n; batch > 0; batch--) {
        for (int32_t out_y = 0; out_y < output_dims->h; out_y++) {
            for (int32_t out_x = 0; out_x < output_dims->w; out_x++) {
                /* Tap t of the filter sees input i where i * stride + t is the output's place in the padded output. */
                const int32_t place_y = out_y + transpose_conv_params->padding.h;
                const int32_t place_x = out_x + transpose_conv_params->padding.w;
                const int8_t *filter = filter_data;
                for (int32_t out_c = 0; out_c < output_dims->c; out_c++) {
                    uint32_t sum = bias_data != NULL ? (uint32_t)bias_data[out_c] : 0U;
                    int32_t y = place_y / stride_h;
                    for (int32_t tap_y = place_y % stride_h; tap_y < filter_dims->h && y >= 0; tap_y += stride_h) {
                        int32_t x = place_x / stride_w;
                        for (int32_t tap_x = place_x % stride_w; tap_x < filter_w && x >= 0; tap_x += stride_w) {
                            if (y < input_dims->h && x < input_dims->w) {
                                const tap_row row = {transpose_conv_params->input_offset, 1, input_c, 0, 0};
                                sum = tg_accumulate_taps(sum, input_data + (y * input_dims->w + x) * input_c,
                                    filter + (tap_y * filter_w + tap_x) * input_c, &row);
                            }
                            x--;
                        }
                        y--;
                    }
                    filter += filter_dims->h * filter_w * input_c;
                    const int32_t scaled =
                        requantize((int32_t)sum, quant_params->multiplier[out_c], quant_params->shift[out_c]);
                    *output_data++ = clamp_s8(wrapping_add(scaled, transpose_conv_params->output_offset),
                        transpose_conv_params->activation.min, transpose_conv_params->activation.max);
                }
            }
        }
        input_data += input_dims->h * input_dims->w * input_c;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
