/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>
#include <string.h>

#include "tg_movement.h"

/* Single bytes are by far the most frequent element that is not contiguous: no call for each of them. */
static void copy_along(const struct tg_copy_axis *along, int32_t element_bytes, const uint8_t *input, uint8_t *output)
{
    for (int32_t i = 0; i < along->count; i++) {
        if (element_bytes == 1) {
            *output = *input;
        } else {
            memcpy(output, input, (size_t)element_bytes);
        }
        input += along->input_step;
        output += along->output_step;
    }
}

void tg_strided_copy(const struct tg_strided_copy *copy, const void *input, void *output)
{
    const uint8_t *from = (const uint8_t *)input + copy->input_offset;
    uint8_t *to = (uint8_t *)output + copy->output_offset;
    const int32_t innermost = copy->axis_count - 1;
    int32_t position[TG_MAX_AXES] = {0};
    int32_t axis;

    do {
        copy_along(&copy->axes[innermost], copy->element_bytes, from, to);
        for (axis = innermost - 1; axis >= 0; axis--) {
            const struct tg_copy_axis *const along = &copy->axes[axis];

            from += along->input_step;
            to += along->output_step;
            if (++position[axis] < along->count) {
                break;
            }
            position[axis] = 0;
            from -= along->count * along->input_step;
            to -= along->count * along->output_step;
        }
    } while (axis >= 0);
}
