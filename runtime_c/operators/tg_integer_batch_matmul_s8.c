/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_integer.h"

/** Product of two matrices; returns the end of the output. Sums wrap around. */
static int32_t *multiply(const struct tg_integer_products *products, const int8_t *first, const int8_t *second,
    const int8_t *first_zero_points, const int8_t *second_zero_points, int32_t *output)
{
    const int32_t first_step = products->first.depth, second_step = products->second.depth;

    for (int32_t row = 0; row < products->rows; row++) {
        const int32_t first_zero_point = first_zero_points[row * products->first_zero_point_step];
        for (int32_t column = 0; column < products->columns; column++) {
            const int32_t second_zero_point = second_zero_points[column * products->second_zero_point_step];
            const int8_t *a = first + row * products->first.vector;
            const int8_t *b = second + column * products->second.vector;
            uint32_t sum = 0;
            for (int32_t k = 0; k < products->depth; k++) {
                sum += (uint32_t)((a[k * first_step] - first_zero_point) * (b[k * second_step] - second_zero_point));
            }
            *output++ = (int32_t)sum;
        }
    }
    return output;
}

void tg_integer_batch_matmul_s8(const struct tg_integer_products *products, const int8_t *first, const int8_t *second,
    const int8_t *first_zero_points, const int8_t *second_zero_points, int32_t *output)
{
    for (int32_t outer = 0; outer < products->outer_batches; outer++) {
        for (int32_t inner = 0; inner < products->inner_batches; inner++) {
            output =
                multiply(products, first + outer * products->first.outer_batch + inner * products->first.inner_batch,
                    second + outer * products->second.outer_batch + inner * products->second.inner_batch,
                    first_zero_points, second_zero_points, output);
        }
    }
}
