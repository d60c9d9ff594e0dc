/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_partial_products.h"

void tg_add_products_s8(const struct tg_products *products, const int8_t *input, int32_t first, int32_t *sums)
{
    const int8_t *row = products->weights + first;

    for (int32_t unit = 0; unit < products->units; unit++) {
        int32_t sum = 0;
        for (int32_t i = 0; i < products->count; i++) {
            sum += row[i] * (input[i] + products->input_offset);
        }
        sums[unit] += sum;
        row += products->features;
    }
}
