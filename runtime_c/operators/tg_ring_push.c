/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>
#include <string.h>

#include "tg_ring.h"

void tg_ring_push(const struct tg_ring_push *layer, const void *input, void *ring, int32_t *place)
{
    const int32_t left = layer->rows - *place;
    const int32_t behind = layer->new_rows < left ? layer->new_rows : left;
    const size_t bytes = (size_t)(behind * layer->row_bytes);

    memcpy((int8_t *)ring + *place * layer->row_bytes, input, bytes);
    if (layer->new_rows < left) {
        *place += layer->new_rows;
        return;
    }
    *place = layer->new_rows - behind;
    memcpy(ring, (const int8_t *)input + bytes, (size_t)(*place * layer->row_bytes));
}
