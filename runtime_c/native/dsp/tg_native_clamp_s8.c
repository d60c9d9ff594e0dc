/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_arithmetic.h"

void tg_native_clamp_s8(int8_t *values, int32_t size, int32_t min, int32_t max)
{
    if (min == INT8_MIN && max == INT8_MAX) {
        return;
    }
    for (int32_t i = 0; i < size; i++) {
        const int8_t value = values[i];
        values[i] = (int8_t)(value < min ? min : value > max ? max : value);
    }
}
