/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Integers of a type that is known at run time.
 */
#ifndef TG_ELEMENT_H
#define TG_ELEMENT_H

#include "tg_numbers.h"

/** Element i. */
static inline int64_t tg_loaded(enum tg_element type, const void *elements, int32_t i)
{
    switch (type) {
    case TG_BOOL:
    case TG_U8:
        return ((const uint8_t *)elements)[i];
    case TG_S8:
        return ((const int8_t *)elements)[i];
    case TG_S16:
        return ((const int16_t *)elements)[i];
    case TG_S32:
        return ((const int32_t *)elements)[i];
    case TG_U32:
        return ((const uint32_t *)elements)[i];
    default:
        return ((const int64_t *)elements)[i];
    }
}

/** Make `value` element i, as far as its bits fit. */
static inline void tg_store(enum tg_element type, void *elements, int32_t i, int64_t value)
{
    switch (type) {
    case TG_BOOL:
        ((uint8_t *)elements)[i] = value != 0;
        break;
    case TG_U8:
    case TG_S8:
        ((uint8_t *)elements)[i] = (uint8_t)value;
        break;
    case TG_S16:
        ((int16_t *)elements)[i] = (int16_t)value;
        break;
    case TG_S32:
        ((int32_t *)elements)[i] = (int32_t)value;
        break;
    case TG_U32:
        ((uint32_t *)elements)[i] = (uint32_t)value;
        break;
    default:
        ((int64_t *)elements)[i] = value;
        break;
    }
}

#endif
