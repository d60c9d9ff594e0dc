/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arm_nnfunctions.h"
#include "requantize.h"

arm_cmsis_nn_status arm_elementwise_add_s16(const int16_t *input_1_vect, const int16_t *input_2_vect,
    const int32_t input_1_offset, const int32_t input_1_mult, const int32_t input_1_shift, const int32_t input_2_offset,
    const int32_t input_2_mult, const int32_t input_2_shift, const int32_t left_shift, int16_t *output,
    const int32_t out_offset, const int32_t out_mult, const int32_t out_shift, const int32_t out_activation_min,
    const int32_t out_activation_max, const int32_t block_size)
{
    (void)input_1_offset;
    (void)input_2_offset;
    (void)out_offset;

    for (int32_t i = 0; i < block_size; i++) {
        const uint32_t shifted_1 = (uint32_t)input_1_vect[i] << left_shift;
        const uint32_t shifted_2 = (uint32_t)input_2_vect[i] << left_shift;
        const int32_t sum = wrapping_add(requantize((int32_t)shifted_1, input_1_mult, input_1_shift),
            requantize((int32_t)shifted_2, input_2_mult, input_2_shift));
        output[i] = clamp_s16(requantize(sum, out_mult, out_shift), out_activation_min, out_activation_max);
    }
    return ARM_CMSIS_NN_SUCCESS;
}
