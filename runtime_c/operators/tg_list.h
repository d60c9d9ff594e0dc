/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads lists of weights.
 */
#ifndef TG_LIST_H
#define TG_LIST_H

#include "tg_listed.h"

#include <stddef.h>

/** Whether a weight is stored. */
static inline int tg_is_stored(const struct tg_list *list, int32_t weight)
{
    return list->mask == NULL || ((list->mask[weight >> 3] >> (weight & 7)) & 1) != 0;
}

/** Code number `stored`; it may lie in two bytes. */
static inline uint32_t tg_listed_code(const uint8_t *codes, int32_t bits, int32_t stored)
{
    const int32_t position = stored * bits;
    const int32_t first = position & 7;
    uint32_t code = (uint32_t)codes[position >> 3] >> first;

    if (first + bits > 8) {
        code |= (uint32_t)codes[(position >> 3) + 1] << (8 - first);
    }
    return code & ((1U << bits) - 1U);
}

/** Where the table of a filter begins. */
static inline int32_t tg_table_of(const struct tg_list *list, int32_t filter)
{
    return list->next_table == 0 ? 0 : filter / list->filters_of_table * list->next_table;
}

#endif
