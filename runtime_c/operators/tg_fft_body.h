/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Transforms of pairs of TG_NUMBER as complex numbers where they lie: radix 4, radix 2 at first where the length asks
 * for it; each stage scales what it adds up. The arithmetic is that of the header included before this one.
 */
#include <stddef.h>

#include "tg_signal.h"

#define TG_RADIX_4 4

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

/** Where a pair of the input goes before the first stage: its digits in reverse, the first radix counting least. */
static inline uint32_t place_of(uint32_t index, int32_t log2_pairs)
{
    uint32_t place = 0;
    int32_t left = log2_pairs;

    for (; left >= 2; left -= 2) {
        place |= (index & 3U) << (left - 2);
        index >>= 2;
    }
    return place | (left == 1 ? index & 1U : 0U);
}

/** The stages, on pairs that stand at their places; `turn` is -1, or 1 for the inverse. */
static inline void transform(const struct tg_fft *fft, struct complex_number *pairs, int32_t turn)
{
    const struct complex_number *twiddles = fft->twiddles;
    const int32_t count = (int32_t)1 << fft->log2_pairs;
    int32_t done = 1;

    if ((fft->log2_pairs & 1) != 0) {
        for (int32_t i = 0; i < count; i += 2) {
            const struct complex_number first = divided(pairs[i], 2);
            const struct complex_number second = product(divided(pairs[i + 1], 2), twiddles[0]);

            pairs[i] = sum(first, second);
            pairs[i + 1] = difference(first, second);
        }
        done = 2;
    }
    for (; done < count; done *= TG_RADIX_4) {
        const int32_t stride = count / (TG_RADIX_4 * done);

        for (int32_t at = 0; at < done; at++) {
            const struct complex_number factor_1 = twiddles[at * stride];
            const struct complex_number factor_2 = twiddles[2 * at * stride];
            const struct complex_number factor_3 = twiddles[3 * at * stride];

            for (int32_t i = at; i < count; i += TG_RADIX_4 * done) {
                const struct complex_number first = divided(pairs[i], TG_RADIX_4);
                const struct complex_number second = product(divided(pairs[i + done], TG_RADIX_4), factor_1);
                const struct complex_number third = product(divided(pairs[i + 2 * done], TG_RADIX_4), factor_2);
                const struct complex_number fourth = product(divided(pairs[i + 3 * done], TG_RADIX_4), factor_3);
                const struct complex_number total = sum(first, third);
                const struct complex_number apart = difference(first, third);
                const struct complex_number outer = sum(second, fourth);
                const struct complex_number across = difference(second, fourth);
                const struct complex_number left = {TG_ADD(apart.re, across.im), TG_SUBTRACT(apart.im, across.re)};
                const struct complex_number right = {TG_SUBTRACT(apart.re, across.im), TG_ADD(apart.im, across.re)};

                pairs[i] = sum(total, outer);
                pairs[i + done] = turn < 0 ? left : right;
                pairs[i + 2 * done] = difference(total, outer);
                pairs[i + 3 * done] = turn < 0 ? right : left;
            }
        }
    }
}
