/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_float.h"

static float largest_of(const float *values, int32_t size)
{
    float largest = values[0];

    for (int32_t i = 1; i < size; i++) {
        largest = values[i] > largest ? values[i] : largest;
    }
    return largest;
}

void tg_softmax_f32(const float *input, float *output, int32_t rows, int32_t row_size, float beta)
{
    for (int32_t row = 0; row < rows; row++) {
        const float largest = largest_of(input, row_size);
        float sum = 0.0f;
        for (int32_t i = 0; i < row_size; i++) {
            output[i] = expf(beta * (input[i] - largest));
            sum += output[i];
        }
        for (int32_t i = 0; i < row_size; i++) {
            output[i] /= sum;
        }
        input += row_size;
        output += row_size;
    }
}
