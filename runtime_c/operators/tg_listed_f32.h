/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_LISTED_F32_H
#define TG_LISTED_F32_H

#include "tg_coded_numbers.h"
#include "tg_list.h"

/** The number of a stored weight before it is scaled; `levels` is the table of its filter. */
static inline float tg_listed_number(const struct tg_listed *weights, const float *levels, float zero, int32_t place)
{
    float number;

    if (weights->stored != NULL) {
        number = weights->stored[place];
    } else {
        const uint32_t code = tg_listed_code(weights->codes.codes, weights->codes.bits, place);

        number = (levels != NULL ? levels[code] : tg_number_of(&weights->codes, code)) - zero;
    }
    return number;
}

/** The table of a filter, or NULL. */
static inline const float *tg_levels_of(const struct tg_listed *weights, int32_t filter)
{
    const float *levels = weights->codes.levels;

    return levels == NULL ? NULL : levels + tg_table_of(&weights->list, filter);
}

#endif
