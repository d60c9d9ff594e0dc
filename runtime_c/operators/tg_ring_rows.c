/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>
#include <string.h>

#include "tg_ring.h"

/* Copies rows that lie one behind the other, as many as there are and are wanted; how many are missing then. */
static int32_t copied(const int8_t *from, int32_t rows, int32_t wanted, int32_t row_bytes, int8_t **to)
{
    const int32_t taken = rows < wanted ? rows : wanted;
    const size_t bytes = (size_t)(taken * row_bytes);

    memcpy(*to, from, bytes);
    *to += bytes;
    return wanted - taken;
}

/* Neighbours, the first one `row`, in up to three pieces. */
static void copy_rows(const struct tg_ring_rows *layer, const int8_t *input, const int8_t *ring, int32_t place,
    int32_t row, int32_t rows, int8_t *to)
{
    const int32_t size = layer->row_bytes;
    const int32_t behind = layer->ring_rows - place; /* rows up to the ring's end */
    int32_t left = rows;

    if (row < behind) {
        left = copied(ring + (place + row) * size, behind - row, left, size, &to);
        row = behind;
    }
    if (left > 0 && row < layer->ring_rows) {
        left = copied(ring + (row - behind) * size, layer->ring_rows - row, left, size, &to);
        row = layer->ring_rows;
    }
    if (left > 0) {
        memcpy(to, input + (row - layer->ring_rows) * size, (size_t)(left * size));
    }
}

void tg_ring_rows(
    const struct tg_ring_rows *layer, const void *input, const void *ring, const int32_t *place, void *output)
{
    const int32_t together = layer->step == 1 ? layer->rows : 1;
    int32_t row = layer->first;
    int8_t *to = output;

    for (int32_t done = 0; done < layer->rows; done += together, row += layer->step) {
        copy_rows(layer, input, ring, *place, row, together, to);
        to += together * layer->row_bytes;
    }
}
