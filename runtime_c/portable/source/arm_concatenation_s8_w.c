/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "arm_nnfunctions.h"

void arm_concatenation_s8_w(const int8_t *input, const uint16_t input_x, const uint16_t input_y, const uint16_t input_z,
    const uint16_t input_w, int8_t *output, const uint32_t offset_w)
{
    const uint32_t volume = (uint32_t)input_x * input_y * input_z;
    memcpy(output + offset_w * volume, input, volume * input_w);
}
