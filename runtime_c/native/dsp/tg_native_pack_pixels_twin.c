/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Columns of two pixels in a word, from bytes where 4 pixels lie side by side.
 */
#include "tg_native_blocks.h"
#include "tg_native_side_by_side.h"

void tg_native_pack_pixels_twin(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns)
{
    const int32_t depth = layer->depth;

    join_any(&(struct side_by_side){.from = input + first * depth, .step = depth, .rows = 1, .length = depth}, columns);
}
