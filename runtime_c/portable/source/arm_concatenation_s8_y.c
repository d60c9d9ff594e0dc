/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "arm_nnfunctions.h"

void arm_concatenation_s8_y(const int8_t *input, const uint16_t input_x, const uint16_t input_y, const uint16_t input_z,
    const uint16_t input_w, int8_t *output, const uint16_t output_y, const uint32_t offset_y)
{
    const uint32_t block = (uint32_t)input_x * input_y;
    const uint32_t blocks = (uint32_t)input_z * input_w;
    output += offset_y * input_x;
    for (uint32_t i = 0; i < blocks; i++) {
        memcpy(output, input, block);
        input += block;
        output += (uint32_t)input_x * output_y;
    }
}
