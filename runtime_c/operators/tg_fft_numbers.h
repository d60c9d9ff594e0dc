/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Complex numbers of TG_NUMBER, with the arithmetic of the header included before this one.
 */
#ifndef TG_FFT_NUMBERS_H
#define TG_FFT_NUMBERS_H

#include <stddef.h>

#include "tg_signal.h"

struct complex_number {
    TG_NUMBER re;
    TG_NUMBER im;
};

static inline struct complex_number divided(struct complex_number value, int32_t radix)
{
    (void)radix;
    return (struct complex_number){TG_SCALED(value.re, TG_DIVISOR(radix)), TG_SCALED(value.im, TG_DIVISOR(radix))};
}

static inline struct complex_number product(struct complex_number value, struct complex_number factor)
{
    return (struct complex_number){TG_PRODUCT_DIFFERENCE(value.re, factor.re, value.im, factor.im),
        TG_PRODUCT_SUM(value.re, factor.im, value.im, factor.re)};
}

static inline struct complex_number sum(struct complex_number first, struct complex_number second)
{
    return (struct complex_number){TG_ADD(first.re, second.re), TG_ADD(first.im, second.im)};
}

static inline struct complex_number difference(struct complex_number first, struct complex_number second)
{
    return (struct complex_number){TG_SUBTRACT(first.re, second.re), TG_SUBTRACT(first.im, second.im)};
}

#endif
