/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of matrices of ELEMENT, added up as SUM and turned into an element by RESULT(params, sum), in the function
 * NAME.
 */
#include "tg_matmul_results.h"

/** Product of two matrices; returns the end of the output. */
static ELEMENT *multiply(const struct tg_matmul_params *params, const struct tg_matmul_strides *first_strides,
    const struct tg_matmul_strides *second_strides, const ELEMENT *first, const ELEMENT *second, ELEMENT *output)
{
    for (int32_t row = 0; row < params->rows; row++) {
        for (int32_t column = 0; column < params->columns; column++) {
            const ELEMENT *a = first + row * first_strides->vector;
            const ELEMENT *b = second + column * second_strides->vector;
            SUM sum = 0;
            for (int32_t k = 0; k < params->depth; k++) {
                sum += (*a + first_strides->offset) * (*b + second_strides->offset);
                a += first_strides->depth;
                b += second_strides->depth;
            }
            *output++ = RESULT(params, sum);
        }
    }
    return output;
}

void NAME(const struct tg_matmul_params *params, const struct tg_matmul_strides *first_strides,
    const struct tg_matmul_strides *second_strides, const ELEMENT *first, const ELEMENT *second, ELEMENT *output)
{
    for (int32_t outer = 0; outer < params->outer_batches; outer++) {
        for (int32_t inner = 0; inner < params->inner_batches; inner++) {
            output = multiply(params, first_strides, second_strides,
                first + outer * first_strides->outer_batch + inner * first_strides->inner_batch,
                second + outer * second_strides->outer_batch + inner * second_strides->inner_batch, output);
        }
    }
}
