/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_float.h"

void tg_map_f32(tg_function_f32 *function, const float *parameters, const float *input, float *output, int32_t size)
{
    for (int32_t i = 0; i < size; i++) {
        output[i] = function(input[i], parameters);
    }
}
