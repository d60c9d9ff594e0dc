/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Transforms of pairs of TG_NUMBER as complex numbers where they lie: radix 4, radix 2 at first where the length asks
 * for it; each stage scales what it adds up. The arithmetic is that of the header included before this one. Behind
 * tg_fft_mixed.h, stages of radix 5 and 3 come before these.
 */
#include "tg_fft_numbers.h"

#define TG_RADIX_4 4

#ifndef TG_FFT_MIXED_H
static inline int32_t pairs_of(const struct tg_fft *fft)
{
    return (int32_t)1 << fft->log2_pairs;
}

static inline uint32_t with_odd_digits(const struct tg_fft *fft, uint32_t place, uint32_t index)
{
    (void)fft;
    (void)index;
    return place;
}

static inline int32_t odd_stages(const struct tg_fft *fft, struct complex_number *pairs)
{
    (void)fft;
    (void)pairs;
    return 1;
}
#endif

/** Where a pair of the input goes before the first stage: its digits in reverse, the first radix counting least. */
static inline uint32_t place_of(const struct tg_fft *fft, uint32_t index)
{
    uint32_t place = 0;
    int32_t left = fft->log2_pairs;

    for (; left >= 2; left -= 2) {
        place |= (index & 3U) << (left - 2);
        index >>= 2;
    }
    return with_odd_digits(fft, place | (left == 1 ? index & 1U : 0U), index >> left);
}

/** The stages, on pairs that stand at their places; `turn` is -1, or 1 for the inverse. */
static inline void transform(const struct tg_fft *fft, struct complex_number *pairs, int32_t turn)
{
    const struct complex_number *twiddles = fft->twiddles;
    const int32_t count = pairs_of(fft);
    int32_t done = odd_stages(fft, pairs);

    if ((fft->log2_pairs & 1) != 0) {
        const int32_t stride = count / (2 * done);

        for (int32_t at = 0; at < done; at++) {
            for (int32_t i = at; i < count; i += 2 * done) {
                const struct complex_number first = divided(pairs[i], 2);
                const struct complex_number second = product(divided(pairs[i + done], 2), twiddles[at * stride]);

                pairs[i] = sum(first, second);
                pairs[i + done] = difference(first, second);
            }
        }
        done *= 2;
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
