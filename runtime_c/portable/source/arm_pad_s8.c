/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "arm_nnfunctions.h"

static inline bool is_index(int32_t value, int32_t size)
{
    return value >= 0 && value < size;
}

arm_cmsis_nn_status arm_pad_s8(const int8_t *input, int8_t *output, const int8_t pad_value,
    const cmsis_nn_dims *input_size, const cmsis_nn_dims *pre_pad, const cmsis_nn_dims *post_pad)
{
    const int32_t input_c = input_size->c;
    const int32_t output_c = pre_pad->c + input_c + post_pad->c;

    for (int32_t n = -pre_pad->n; n < input_size->n + post_pad->n; n++) {
        for (int32_t h = -pre_pad->h; h < input_size->h + post_pad->h; h++) {
            for (int32_t w = -pre_pad->w; w < input_size->w + post_pad->w; w++) {
                const bool inside =
                    is_index(n, input_size->n) && is_index(h, input_size->h) && is_index(w, input_size->w);
                memset(output, pad_value, (size_t)output_c);
                if (inside) {
                    memcpy(output + pre_pad->c, input, (size_t)input_c);
                    input += input_c;
                }
                output += output_c;
            }
        }
    }
    return ARM_CMSIS_NN_SUCCESS;
}
