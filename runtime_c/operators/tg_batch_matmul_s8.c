/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_matmul.h"

/** Product of two matrices; returns the end of the output. */
static int8_t *multiply(const struct tg_matmul_params *params, const struct tg_matmul_strides *first_strides,
    const struct tg_matmul_strides *second_strides, const int8_t *first, const int8_t *second, int8_t *output)
{
    for (int32_t row = 0; row < params->rows; row++) {
        for (int32_t column = 0; column < params->columns; column++) {
            const int8_t *a = first + row * first_strides->vector;
            const int8_t *b = second + column * second_strides->vector;
            int32_t sum = 0;
            for (int32_t k = 0; k < params->depth; k++) {
                sum += (*a + first_strides->offset) * (*b + second_strides->offset);
                a += first_strides->depth;
                b += second_strides->depth;
            }
            *output++ = tg_saturate_s8(tg_scale(sum, params->multiplier, params->shift) + params->output_zero_point);
        }
    }
    return output;
}

void tg_batch_matmul_s8(const struct tg_matmul_params *params, const struct tg_matmul_strides *first_strides,
    const struct tg_matmul_strides *second_strides, const int8_t *first, const int8_t *second, int8_t *output)
{
    for (int32_t outer = 0; outer < params->outer_batches; outer++) {
        for (int32_t inner = 0; inner < params->inner_batches; inner++) {
            output = multiply(params, first_strides, second_strides,
                first + outer * first_strides->outer_batch + inner * first_strides->inner_batch,
                second + outer * second_strides->outer_batch + inner * second_strides->inner_batch, output);
        }
    }
}
