/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Index of the largest value, included once for each pair of types: of VALUE elements as INDEX, in the function
 * ARG_MAX.
 */
#include <stdint.h>

/** Index of the first largest of `size` values that lie `stride` apart. */
static int32_t first_largest(const VALUE *values, int32_t size, int32_t stride)
{
    int32_t best = 0;
    for (int32_t i = 1; i < size; i++) {
        if (values[i * stride] > values[best * stride]) {
            best = i;
        }
    }
    return best;
}

void ARG_MAX(int32_t outer, int32_t size, int32_t inner, const VALUE *input, INDEX *output)
{
    for (int32_t o = 0; o < outer; o++) {
        for (int32_t i = 0; i < inner; i++) {
            *output++ = first_largest(input + i, size, inner);
        }
        input += size * inner;
    }
}
