/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>
#include <string.h>

#include "tg_movement.h"

/* Single bytes are by far the most frequent element that is not contiguous: no call for each of them. */
static inline void copy_element(const uint8_t *input, uint8_t *output, int32_t bytes)
{
    if (bytes == 1) {
        *output = *input;
    } else {
        memcpy(output, input, (size_t)bytes);
    }
}

void tg_strided_copy(const struct tg_strided_copy *copy, const void *input, void *output)
{
    const uint8_t *const in = input;
    uint8_t *const out = output;
    int32_t from = copy->input_offset;
    int32_t to = copy->output_offset;
    int32_t position[TG_MAX_AXES] = {0};

    for (;;) {
        int32_t axis = copy->axis_count - 1;
        const struct tg_copy_axis *along = &copy->axes[axis];

        for (int32_t i = 0; i < along->count; i++) {
            copy_element(in + from, out + to, copy->element_bytes);
            from += along->input_step;
            to += along->output_step;
        }
        do { /* back to the start of this axis, and one step along the next outer one */
            from -= along->count * along->input_step;
            to -= along->count * along->output_step;
            position[axis] = 0;
            if (--axis < 0) {
                return;
            }
            along = &copy->axes[axis];
            from += along->input_step;
            to += along->output_step;
        } while (++position[axis] == along->count);
    }
}
