/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows that are kept from call to call where they lie. Row `place` of a ring is the oldest; behind the last row stands
 * the first one.
 */
#ifndef TG_RING_H
#define TG_RING_H

#include <stdint.h>

#include "tg_operator_names.h"

/** New rows for a ring, at most as many as it has. */
struct tg_ring_push {
    int32_t rows; /**< of the ring */
    int32_t new_rows;
    int32_t row_bytes;
};

/** New rows take the places of the oldest ones, and `place` moves on. */
void tg_ring_push(const struct tg_ring_push *layer, const void *input, void *ring, int32_t *place);

enum { TG_RING_MOST_TAPS = 32 }; /* of a depthwise convolution */

/** A layer on some rows at a time of a ring and new ones behind them. */
struct tg_ring_layer {
    int32_t ring_rows;
    int32_t row;        /**< elements of one */
    int32_t taps;       /**< rows at a time */
    int32_t dilation;   /**< rows between taps */
    int32_t stride;     /**< rows between results */
    int32_t outputs;    /**< rows of results */
    int32_t units;      /**< elements of a result */
    int32_t zero_point; /**< of the output */
    int32_t min;
    int32_t max;
    const int8_t *weights;
    const int32_t *starts;      /**< of sums: biases, with the input's zero point */
    const int32_t *multipliers; /**< of each unit */
    const int32_t *shifts;      /**< to the left where positive */
};

/** A depthwise convolution along rows, with as many units as elements; weights are [taps][units]. */
void tg_ring_depthwise_s8(
    const struct tg_ring_layer *layer, const int8_t *input, const int8_t *ring, const int32_t *place, int8_t *output);

/** Products of weights [units][taps][row] with whole rows, that lie one behind the other: not dilated. */
void tg_ring_fully_connected_s8(
    const struct tg_ring_layer *layer, const int8_t *input, const int8_t *ring, const int32_t *place, int8_t *output);

/** Some rows of a ring and new ones behind them. */
struct tg_ring_rows {
    int32_t ring_rows;
    int32_t row_bytes;
    int32_t first; /**< counted from the oldest of the ring */
    int32_t rows;  /**< at least 1 */
    int32_t step;  /**< from one to the next; 1 where they are neighbours */
};

/** Copies them one behind the other. */
void tg_ring_rows(
    const struct tg_ring_rows *layer, const void *input, const void *ring, const int32_t *place, void *output);

#endif
