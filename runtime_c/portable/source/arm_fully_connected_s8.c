/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arm_nnfunctions.h"
#include "fully_connected.h"

arm_cmsis_nn_status arm_fully_connected_s8(const cmsis_nn_context *ctx, const cmsis_nn_fc_params *fc_params,
    const cmsis_nn_per_tensor_quant_params *quant_params, const cmsis_nn_dims *input_dims, const int8_t *input_data,
    const cmsis_nn_dims *filter_dims, const int8_t *filter_data, const cmsis_nn_dims *bias_dims,
    const int32_t *bias_data, const cmsis_nn_dims *output_dims, int8_t *output_data)
{
    const int32_t depth = filter_dims->n;
    const int32_t rows = output_dims->c;
    (void)ctx;
    (void)bias_dims;

    for (int32_t batch = input_dims->n; batch > 0; batch--) {
        fully_connected_row(fc_params, &quant_params->multiplier, &quant_params->shift, 0, input_data, depth,
            filter_data, bias_data, output_data, rows);
        input_data += depth;
        output_data += rows;
    }
    return ARM_CMSIS_NN_SUCCESS;
}
