/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "convolution.h"

arm_cmsis_nn_status tg_convolve(tg_convolution kind, const cmsis_nn_conv_params *params,
    const cmsis_nn_per_channel_quant_params *quant, const cmsis_nn_dims *input_dims, const int8_t *input,
    const cmsis_nn_dims *filter_dims, const int8_t *filter, const cmsis_nn_dims *bias_dims, const int32_t *bias,
    const cmsis_nn_dims *output_dims, int8_t *output)
{
    if (!TG_SHARED_CONVOLUTION && kind != TG_CONVOLUTION) {
        return ARM_CMSIS_NN_ARG_ERROR;
    }
    return convolve_inline(
        kind, params, quant, input_dims, input, filter_dims, filter, bias_dims, bias, output_dims, output);
}
