/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_elementwise.h"

void tg_lookup_s8(const int8_t table[256], const int8_t *input, int8_t *output, int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        output[i] = table[(uint8_t)input[i]];
    }
}
