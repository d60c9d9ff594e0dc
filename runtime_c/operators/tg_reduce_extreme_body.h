/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A reduction to the largest or smallest value; TG_FUNCTION is its name, TG_ELEMENT the type of an element.
 */
#include "tg_reduction.h"

void TG_FUNCTION(const struct tg_extents *extents, enum tg_extreme which, const TG_ELEMENT *input, TG_ELEMENT *output)
{
    const int32_t sign = (int32_t)which; /* the smallest value is the largest one after a change of sign */
    const int32_t inner = extents->inner;
    const int32_t block = extents->second * inner;
    const int32_t plane = extents->middle * block;

    for (int32_t outer = 0; outer < extents->outer; outer++) {
        for (int32_t middle = 0; middle < extents->middle; middle++) {
            for (int32_t i = 0; i < inner; i++) {
                const TG_ELEMENT *start = input + middle * block + i;
                int32_t best = sign * start[0];
                for (int32_t first = 0; first < extents->first; first++) {
                    for (int32_t at = 0; at < block; at += inner) {
                        const int32_t value = sign * start[at];
                        best = value > best ? value : best;
                    }
                    start += plane;
                }
                *output++ = (TG_ELEMENT)(sign * best);
            }
        }
        input += extents->first * plane;
    }
}
