/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_quantize.h"

void tg_dequantize_s8_u8(const int8_t *input, uint8_t *output, int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        output[i] = (uint8_t)(input[i] + 128);
    }
}
