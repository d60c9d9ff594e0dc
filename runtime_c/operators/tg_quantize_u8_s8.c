/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_quantize.h"

void tg_quantize_u8_s8(const uint8_t *input, int8_t *output, int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        output[i] = (int8_t)(input[i] - 128);
    }
}
