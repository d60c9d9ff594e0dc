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

enum { TG_RING_MOST_TAPS = 32 };

/** A depthwise convolution along the rows of a ring and new ones behind them. */
struct tg_ring_depthwise {
    int32_t ring_rows;
    int32_t channels;
    int32_t taps; /**< at most TG_RING_MOST_TAPS */
    int32_t dilation;
    int32_t stride;
    int32_t output_rows;
    int32_t zero_point; /**< of the output */
    int32_t min;
    int32_t max;
    const int8_t *weights;      /**< [taps][channels] */
    const int32_t *starts;      /**< of sums: biases, with the input's zero point */
    const int32_t *multipliers; /**< of each channel */
    const int32_t *shifts;      /**< to the left where positive */
};

void tg_ring_depthwise_s8(const struct tg_ring_depthwise *layer, const int8_t *input, const int8_t *ring,
    const int32_t *place, int8_t *output);

/** Products of weights with whole rows of a ring and new ones behind them. */
struct tg_ring_fully_connected {
    int32_t ring_rows;
    int32_t row;    /**< elements of one */
    int32_t taps;   /**< rows of a vector */
    int32_t stride; /**< rows between vectors */
    int32_t vectors;
    int32_t units;
    int32_t zero_point; /**< of the output */
    int32_t min;
    int32_t max;
    const int8_t *weights;      /**< [units][taps][row] */
    const int32_t *starts;      /**< of sums: biases, with the input's zero point */
    const int32_t *multipliers; /**< of each unit */
    const int32_t *shifts;      /**< to the left where positive */
};

void tg_ring_fully_connected_s8(const struct tg_ring_fully_connected *layer, const int8_t *input, const int8_t *ring,
    const int32_t *place, int8_t *output);

/** Some rows of a ring and new ones behind them. */
struct tg_ring_rows {
    int32_t ring_rows;
    int32_t row_bytes;
    int32_t first; /**< counted from the oldest of the ring */
    int32_t rows;  /**< at least 1 */
};

/** Copies them one behind the other. */
void tg_ring_rows(
    const struct tg_ring_rows *layer, const void *input, const void *ring, const int32_t *place, void *output);

#endif
