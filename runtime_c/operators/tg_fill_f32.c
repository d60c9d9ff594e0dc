/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_float.h"

void tg_fill_f32(float *output, int32_t size, float value)
{
    for (int32_t i = 0; i < size; i++) {
        output[i] = value;
    }
}
