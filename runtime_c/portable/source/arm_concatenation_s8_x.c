/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "arm_nnfunctions.h"

void arm_concatenation_s8_x(const int8_t *input, const uint16_t input_x, const uint16_t input_y, const uint16_t input_z,
    const uint16_t input_w, int8_t *output, const uint16_t output_x, const uint32_t offset_x)
{
    const uint32_t rows = (uint32_t)input_y * input_z * input_w;
    output += offset_x;
    for (uint32_t i = 0; i < rows; i++) {
        memcpy(output, input, input_x);
        input += input_x;
        output += output_x;
    }
}
