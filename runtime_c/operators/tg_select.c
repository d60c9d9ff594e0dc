/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>
#include <string.h>

#include "tg_movement.h"

static inline void copy_element(const uint8_t *input, uint8_t *output, int32_t bytes)
{
    if (bytes == 1) {
        *output = *input;
    } else {
        memcpy(output, input, (size_t)bytes);
    }
}

void tg_select(
    const struct tg_select *select, const uint8_t *condition, const void *first, const void *second, void *output)
{
    const int32_t *const sizes = select->sizes;
    const int32_t *const by_condition = select->condition_strides;
    const int32_t *const by_first = select->first_strides;
    const int32_t *const by_second = select->second_strides;
    const int32_t bytes = select->element_bytes;
    uint8_t *written = output;

    for (int32_t i = 0; i < sizes[0]; i++) {
        for (int32_t j = 0; j < sizes[1]; j++) {
            for (int32_t k = 0; k < sizes[2]; k++) {
                const uint8_t *chosen = condition + i * by_condition[0] + j * by_condition[1] + k * by_condition[2];
                const uint8_t *a =
                    (const uint8_t *)first + (i * by_first[0] + j * by_first[1] + k * by_first[2]) * bytes;
                const uint8_t *b =
                    (const uint8_t *)second + (i * by_second[0] + j * by_second[1] + k * by_second[2]) * bytes;
                for (int32_t l = 0; l < sizes[3]; l++) {
                    copy_element(*chosen ? a : b, written, bytes);
                    chosen += by_condition[3];
                    a += by_first[3] * bytes;
                    b += by_second[3] * bytes;
                    written += bytes;
                }
            }
        }
    }
}
