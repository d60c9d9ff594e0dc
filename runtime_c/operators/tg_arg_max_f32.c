/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_float.h"

static int32_t first_largest(const float *values, int32_t size, int32_t stride)
{
    int32_t best = 0;

    for (int32_t i = 1; i < size; i++) {
        if (values[i * stride] > values[best * stride]) {
            best = i;
        }
    }
    return best;
}

void tg_arg_max_f32(int32_t outer, int32_t size, int32_t inner, const float *input, int32_t *output)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            *output++ = first_largest(input + i, size, inner);
        }
        input += size * inner;
    }
}
