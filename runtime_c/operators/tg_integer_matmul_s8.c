/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_integer_sums.h"
#include "tg_partial_products.h"

void tg_integer_matmul_s8(const struct tg_integer_filters *filters, int32_t vectors, int32_t vectors_per_zero_point,
    const int8_t *input, const int8_t *zero_point, int32_t *output)
{
    const struct tg_channel_products products = {filters->weights, filters->channels, filters->elements, vectors};

    for (int32_t vector = 0; vector < vectors; vector++) {
        tg_start_integer_sums(filters, 0, filters->channels, input + vector * filters->elements,
            zero_point[vector / vectors_per_zero_point], output + vector * filters->channels);
    }
    tg_add_channel_products_s8(&products, input, output);
}
