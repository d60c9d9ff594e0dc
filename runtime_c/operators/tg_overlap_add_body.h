/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Frames of TG_NUMBER that overlap, by sums that TG_SUM makes; included by the function TG_FUNCTION.
 */
#include <stddef.h>
#include <string.h>

#include "tg_fixed_point.h"
#include "tg_signal.h"

void TG_FUNCTION(const struct tg_overlap_add *layer, const TG_NUMBER *input, TG_NUMBER *rest, TG_NUMBER *output)
{
    const int32_t kept = layer->size - layer->step;

    for (int32_t row = 0; row < layer->rows; row++) {
        for (int32_t frame = 0; frame < layer->frames; frame++) {
            for (int32_t i = 0; i < layer->size; i++) {
                rest[i] = TG_SUM(rest[i], input[i]);
            }
            memcpy(output, rest, (size_t)layer->step * sizeof *rest);
            memmove(rest, rest + layer->step, (size_t)kept * sizeof *rest);
            for (int32_t i = kept; i < layer->size; i++) {
                rest[i] = 0;
            }
            input += layer->size;
            output += layer->step;
        }
        rest += layer->size;
    }
}
