/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_broadcast_any.h"

void tg_broadcast_any(const struct tg_broadcast *shape, int32_t operand_bytes, int32_t output_bytes,
    tg_any_row_function *function, const void *params, const void *first, const void *second, void *output)
{
    const int32_t *const sizes = shape->sizes;
    const int32_t *const first_strides = shape->first_strides;
    const int32_t *const second_strides = shape->second_strides;
    uint8_t *written = output;

    for (int32_t i = 0; i < sizes[0]; i++) {
        for (int32_t j = 0; j < sizes[1]; j++) {
            for (int32_t k = 0; k < sizes[2]; k++) {
                const int32_t first_at = i * first_strides[0] + j * first_strides[1] + k * first_strides[2];
                const int32_t second_at = i * second_strides[0] + j * second_strides[1] + k * second_strides[2];
                const struct tg_any_row row = {
                    .first = (const uint8_t *)first + first_at * operand_bytes,
                    .second = (const uint8_t *)second + second_at * operand_bytes,
                    .output = written,
                    .first_step = first_strides[3],
                    .second_step = second_strides[3],
                    .size = sizes[3],
                };
                function(params, &row);
                written += sizes[3] * output_bytes;
            }
        }
    }
}
