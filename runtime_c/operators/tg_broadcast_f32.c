/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_arithmetic_f32.h"

static void compute_row(tg_row_function_f32 *function, const struct tg_bounds_f32 *bounds, const struct tg_row_f32 *row)
{
    function(row);
    if (bounds->min > -INFINITY || bounds->max < INFINITY) {
        for (int32_t i = 0; i < row->size; i++) {
            row->output[i] = tg_limited_f32(row->output[i], bounds);
        }
    }
}

void tg_broadcast_f32(const struct tg_broadcast *shape, tg_row_function_f32 *function,
    const struct tg_bounds_f32 *bounds, const float *first, const float *second, float *output)
{
    const int32_t *const sizes = shape->sizes;
    const int32_t *const first_strides = shape->first_strides;
    const int32_t *const second_strides = shape->second_strides;

    for (int32_t i = 0; i < sizes[0]; i++) {
        for (int32_t j = 0; j < sizes[1]; j++) {
            for (int32_t k = 0; k < sizes[2]; k++) {
                const struct tg_row_f32 row = {
                    .first = first + i * first_strides[0] + j * first_strides[1] + k * first_strides[2],
                    .second = second + i * second_strides[0] + j * second_strides[1] + k * second_strides[2],
                    .output = output,
                    .first_step = first_strides[3],
                    .second_step = second_strides[3],
                    .size = sizes[3],
                };
                compute_row(function, bounds, &row);
                output += sizes[3];
            }
        }
    }
}
