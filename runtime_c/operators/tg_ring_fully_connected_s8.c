/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "tg_dot_s8.h"
#include "tg_ring_layer.h"

enum {
    UNITS = 4,     /* whose sums are found side by side */
    MOST_SPANS = 3 /* up to the end of the ring, from its beginning on, new rows */
};

/* Elements of a vector that lie one behind the other. */
struct span {
    const int8_t *values;
    int32_t elements;
};

/* Where the rows of a vector lie that begins with `row`, counted from the oldest of the ring; in how many spans. */
static int32_t find_spans(const struct tg_ring_layer *layer, const int8_t *input, const int8_t *ring, int32_t place,
    int32_t row, struct span *spans)
{
    int32_t count = 0;

    for (int32_t left = layer->taps, rows; left > 0; left -= rows, row += rows, count++) {
        const int8_t *values = input + (row - layer->ring_rows) * layer->row;

        rows = left;
        if (row < layer->ring_rows) {
            const int32_t at = row + place < layer->ring_rows ? row + place : row + place - layer->ring_rows;
            const int32_t until = at < place ? place : layer->ring_rows;

            values = ring + at * layer->row;
            rows = left < until - at ? left : until - at;
        }
        spans[count].values = values;
        spans[count].elements = rows * layer->row;
    }
    return count;
}

static void multiply(const struct tg_ring_layer *layer, const struct span *spans, int32_t count, int8_t *output)
{
    const int32_t features = layer->taps * layer->row;
    const int8_t *weights = layer->weights;
    int32_t unit = 0;

    for (; unit + UNITS <= layer->units; unit += UNITS, weights += UNITS * features) {
        const int8_t *own = weights;
        int32_t sums[UNITS];

        memcpy(sums, layer->starts + unit, sizeof sums);
        for (int32_t i = 0; i < count; i++) {
            tg_add_4x1(own, features, spans[i].values, spans[i].elements, sums);
            own += spans[i].elements;
        }
        for (int32_t i = 0; i < UNITS; i++) {
            *output++ = tg_ring_finished(layer, unit + i, sums[i]);
        }
    }
    for (; unit < layer->units; unit++) {
        int32_t sum = layer->starts[unit];

        for (int32_t i = 0; i < count; i++) {
            sum += tg_dot(weights, spans[i].values, spans[i].elements);
            weights += spans[i].elements;
        }
        *output++ = tg_ring_finished(layer, unit, sum);
    }
}

void tg_ring_fully_connected_s8(
    const struct tg_ring_layer *layer, const int8_t *input, const int8_t *ring, const int32_t *place, int8_t *output)
{
    struct span spans[MOST_SPANS];

    for (int32_t vector = 0; vector < layer->outputs; vector++) {
        const int32_t count = find_spans(layer, input, ring, *place, vector * layer->stride, spans);

        multiply(layer, spans, count, output);
        output += layer->units;
    }
}
