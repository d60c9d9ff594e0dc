/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_arg_max.h"
#include "tg_reduction.h"

void tg_arg_max_s8_s64(int32_t outer, int32_t size, int32_t inner, const int8_t *input, int64_t *output)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            *output++ = tg_first_largest(input + i, size, inner);
        }
        input += size * inner;
    }
}
