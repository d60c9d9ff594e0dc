/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arm_nnfunctions.h"

#define MAX_RANK 4

arm_cmsis_nn_status arm_transpose_s8(const int8_t *input_data, int8_t *const output_data,
    const cmsis_nn_dims *const input_dims, const cmsis_nn_dims *const output_dims,
    const cmsis_nn_transpose_params *const transpose_params)
{
    const int32_t rank = transpose_params->num_dims;
    const int32_t sizes[MAX_RANK] = {input_dims->n, input_dims->h, input_dims->w, input_dims->c};
    int32_t output_sizes[MAX_RANK] = {1, 1, 1, 1};
    int32_t steps[MAX_RANK] = {0, 0, 0, 0};
    int8_t *output = output_data;
    (void)output_dims;

    for (int32_t axis = 0; axis < rank; axis++) {
        const uint32_t from = transpose_params->permutations[axis];
        if (from >= (uint32_t)rank) {
            return ARM_CMSIS_NN_ARG_ERROR;
        }
        const int32_t place = MAX_RANK - rank + axis;
        output_sizes[place] = sizes[from];
        steps[place] = 1;
        for (uint32_t inner = from + 1; inner < (uint32_t)rank; inner++) {
            steps[place] *= sizes[inner];
        }
    }
    for (int32_t n = 0; n < output_sizes[0]; n++) {
        for (int32_t h = 0; h < output_sizes[1]; h++) {
            for (int32_t w = 0; w < output_sizes[2]; w++) {
                const int8_t *input = input_data + n * steps[0] + h * steps[1] + w * steps[2];
                for (int32_t c = 0; c < output_sizes[3]; c++) {
                    *output++ = *input;
                    input += steps[3];
                }
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}
