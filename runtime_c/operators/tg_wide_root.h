/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_WIDE_ROOT_H
#define TG_WIDE_ROOT_H

#include <stdint.h>

enum { TG_ROOT_BITS = 62 }; /* of the product of a root and its reciprocal */

/** number * 2^(pairs - 62) is 1 / sqrt(value). */
struct tg_reciprocal {
    uint32_t number; /**< 2^30 to 2^31 */
    int32_t pairs;   /**< of bits that the value was shifted to the left */
};

/** Of the value, or of 1 where it is 0: 2^62 over the whole root of the value, moved to 2^62 or more; truncated. */
static inline struct tg_reciprocal tg_reciprocal_root(uint64_t value)
{
    uint64_t rest = value ? value : 1;
    uint64_t root = 0;
    int32_t pairs = 0;

    for (; rest < (uint64_t)1 << 62; rest *= 4) {
        pairs++;
    }
    for (uint64_t bit = (uint64_t)1 << 62; bit; bit /= 4) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = root / 2 + bit;
        } else {
            root /= 2;
        }
    }
    return (struct tg_reciprocal){.number = (uint32_t)(((uint64_t)1 << TG_ROOT_BITS) / root), .pairs = pairs};
}

/** To the nearest, ties up. */
static inline int64_t tg_shift_right(int64_t value, int32_t bits)
{
    return bits > 0 ? (value + ((int64_t)1 << (bits - 1))) >> bits : value;
}

#endif
