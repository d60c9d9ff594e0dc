/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "arm_nnfunctions.h"

void arm_concatenation_s8_z(const int8_t *input, const uint16_t input_x, const uint16_t input_y, const uint16_t input_z,
    const uint16_t input_w, int8_t *output, const uint16_t output_z, const uint32_t offset_z)
{
    const uint32_t plane = (uint32_t)input_x * input_y;
    output += offset_z * plane;
    for (uint32_t i = 0; i < input_w; i++) {
        memcpy(output, input, plane * input_z);
        input += plane * input_z;
        output += plane * output_z;
    }
}
