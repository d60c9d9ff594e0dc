/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "tg_element.h"
#include "tg_movement.h"

void tg_update_slice(
    const struct tg_update_slice *layer, const void *input, const void *update, const void *start, void *output)
{
    struct tg_strided_copy copy = layer->copy;

    for (int32_t axis = 0; axis < copy.axis_count; axis++) {
        const int64_t asked = tg_loaded(layer->has_wide_start ? TG_S64 : TG_S32, start, axis);
        const int32_t least = asked > 0 ? (int32_t)(asked < layer->room[axis] ? asked : layer->room[axis]) : 0;
        copy.output_offset += least * copy.axes[axis].output_step;
    }
    if (output != input) {
        memcpy(output, input, (size_t)layer->bytes);
    }
    tg_strided_copy(&copy, update, output);
}
