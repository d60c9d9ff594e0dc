/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_float.h"

static float product(const struct tg_matrix_product *matmul, const float *row, const float *column)
{
    float sums[2] = {0.0f, 0.0f};

    for (int32_t i = 0; i < matmul->depth; i++) {
        sums[i & 1] += row[i * matmul->first.depth] * column[i * matmul->second.depth];
    }
    return sums[0] + sums[1];
}

void tg_matmul_f32(const struct tg_matrix_product *matmul, const float *first, const float *second, float *output)
{
    for (int32_t outer = 0; outer < matmul->outer_batches; outer++) {
        for (int32_t inner = 0; inner < matmul->inner_batches; inner++) {
            const float *const a = first + outer * matmul->first.outer_batch + inner * matmul->first.inner_batch;
            const float *const b = second + outer * matmul->second.outer_batch + inner * matmul->second.inner_batch;
            for (int32_t row = 0; row < matmul->rows; row++) {
                for (int32_t column = 0; column < matmul->columns; column++) {
                    *output++ = product(matmul, a + row * matmul->first.vector, b + column * matmul->second.vector);
                }
            }
        }
    }
}
