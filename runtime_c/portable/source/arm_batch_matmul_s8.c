/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arm_nnfunctions.h"
#include "fully_connected.h"

/** Number of the matrix that stands at (n, h) of the output; an axis of size 1 broadcasts. */
static int32_t matrix_index(const cmsis_nn_dims *dims, int32_t n, int32_t h)
{
    return (dims->n > 1 ? n : 0) * dims->h + (dims->h > 1 ? h : 0);
}

arm_cmsis_nn_status arm_batch_matmul_s8(const cmsis_nn_context *ctx, const cmsis_nn_bmm_params *bmm_params,
    const cmsis_nn_per_tensor_quant_params *quant_params, const cmsis_nn_dims *input_lhs_dims, const int8_t *input_lhs,
    const cmsis_nn_dims *input_rhs_dims, const int8_t *input_rhs, const cmsis_nn_dims *output_dims, int8_t *output)
{
    const int32_t rows = input_lhs_dims->w;
    const int32_t columns = input_rhs_dims->w;
    const int32_t depth = input_rhs_dims->c;
    (void)ctx;

    for (int32_t n = 0; n < output_dims->n; n++) {
        for (int32_t h = 0; h < output_dims->h; h++) {
            const int8_t *lhs = input_lhs + matrix_index(input_lhs_dims, n, h) * rows * depth;
            const int8_t *rhs = input_rhs + matrix_index(input_rhs_dims, n, h) * columns * depth;
            for (int32_t row = 0; row < rows; row++) {
                fully_connected_row(&bmm_params->fc_params, &quant_params->multiplier, &quant_params->shift, 0, lhs,
                    depth, rhs, NULL, output, columns);
                lhs += depth;
                output += columns;
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}
