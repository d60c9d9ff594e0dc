/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What layers on rows of a ring have in common.
 */
#ifndef TG_RING_LAYER_H
#define TG_RING_LAYER_H

#include "tg_fixed_point.h"
#include "tg_ring.h"

/** The element of a result that a sum gives. */
static inline int8_t tg_ring_finished(const struct tg_ring_layer *layer, int32_t unit, int32_t sum)
{
    const int32_t scaled = tg_scale(sum, layer->multipliers[unit], layer->shifts[unit]);

    return tg_stored_s8(scaled, layer->zero_point, layer->min, layer->max);
}

#endif
