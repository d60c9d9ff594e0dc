/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_LISTED_NUMBERS_S8_H
#define TG_LISTED_NUMBERS_S8_H

#include "tg_fixed_point.h"
#include "tg_list.h"
#include "tg_listed_s8.h"

/** A stored weight; `levels` is the table of its filter, or NULL. */
static inline int32_t tg_listed_weight(const struct tg_listed_convolution *layer, const int8_t *levels, int32_t stored)
{
    const uint32_t code = tg_listed_code(layer->codes, layer->bits, stored);

    return levels != NULL ? (int32_t)levels[code] : (int32_t)(int8_t)(uint8_t)code;
}

/** The table of a filter, or NULL. */
static inline const int8_t *tg_int8_levels_of(const struct tg_listed_convolution *layer, int32_t filter)
{
    return layer->levels == NULL ? NULL : layer->levels + tg_table_of(&layer->list, filter);
}

/** The output of a sum with its bias. */
static inline int8_t tg_listed_output(const struct tg_listed_convolution *layer, int32_t channel, int32_t sum)
{
    const int32_t scaled = tg_scale(sum, layer->multiplier[channel], layer->shift[channel]);

    return tg_stored_s8(scaled, layer->output_zero_point, layer->min, layer->max);
}

#endif
