/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pooling on cores with MVE, 16 channels at once.
 */
#ifndef TG_NATIVE_MVE_POOLS_H
#define TG_NATIVE_MVE_POOLS_H

#include "tg_native_mve.h"
#include "tg_native_names.h"

/** The part of a window that lies inside the input. */
struct tg_native_mve_window {
    const int8_t *from;
    int8_t *output;
    int32_t rows;
    int32_t columns;
    int32_t channels; /**< and bytes from pixel to pixel */
    int32_t row_skip; /**< bytes from behind a row of the window to the next one */
    int32_t min;      /**< clamp of the output */
    int32_t max;
    int32_t count;       /**< of the values */
    uint32_t reciprocal; /**< 2**31 / count, rounded up */
};

/** Reduces all channels of a window. */
typedef void tg_native_mve_reduce(const struct tg_native_mve_window *window);

/** All windows. */
void tg_native_mve_pools(
    const struct tg_native_pool *layer, const int8_t *input, int8_t *output, tg_native_mve_reduce *reduce);

#endif
