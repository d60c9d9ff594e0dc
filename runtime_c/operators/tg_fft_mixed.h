/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Stages of radix 5 and 3, which come before those of tg_fft_body.h.
 */
#ifndef TG_FFT_MIXED_H
#define TG_FFT_MIXED_H

#include "tg_fft_numbers.h"

static inline struct complex_number times(struct complex_number value, TG_NUMBER factor)
{
    return (struct complex_number){TG_TIMES(value.re, factor), TG_TIMES(value.im, factor)};
}

/* The value times the factor, and times -i. */
static inline struct complex_number quarter_turn(struct complex_number value, TG_NUMBER factor)
{
    return (struct complex_number){TG_TIMES(value.im, factor), TG_NEGATED(TG_TIMES(value.re, factor))};
}

static inline int32_t pairs_of(const struct tg_fft *fft)
{
    int32_t count = (int32_t)1 << fft->log2_pairs;

    for (int32_t i = 0; i < fft->threes; i++) {
        count *= 3;
    }
    for (int32_t i = 0; i < fft->fives; i++) {
        count *= 5;
    }
    return count;
}

/* The place by the digits of radix 4 and 2, followed by those of radix 3 and 5. */
static inline uint32_t with_odd_digits(const struct tg_fft *fft, uint32_t place, uint32_t index)
{
    for (int32_t i = 0; i < fft->threes; i++) {
        place = 3U * place + index % 3U;
        index /= 3U;
    }
    for (int32_t i = 0; i < fft->fives; i++) {
        place = 5U * place + index % 5U;
        index /= 5U;
    }
    return place;
}

/* `stage` numbers are joined from 5 times as few. */
static inline void join_fives(const struct tg_fft *fft, struct complex_number *pairs, int32_t stage)
{
    const struct complex_number *twiddles = fft->twiddles;
    const int32_t count = pairs_of(fft);
    const int32_t done = stage / 5;
    const int32_t stride = count / stage;
    const struct complex_number root = twiddles[count / 5];
    const struct complex_number square = twiddles[2 * (count / 5)];

    for (int32_t at = 0; at < done; at++) {
        for (int32_t i = at; i < count; i += stage) {
            const struct complex_number first = divided(pairs[i], 5);
            const struct complex_number a = product(divided(pairs[i + done], 5), twiddles[at * stride]);
            const struct complex_number b = product(divided(pairs[i + 2 * done], 5), twiddles[2 * at * stride]);
            const struct complex_number c = product(divided(pairs[i + 3 * done], 5), twiddles[3 * at * stride]);
            const struct complex_number d = product(divided(pairs[i + 4 * done], 5), twiddles[4 * at * stride]);
            const struct complex_number outer = sum(a, d);
            const struct complex_number inner = sum(b, c);
            const struct complex_number around = difference(a, d);
            const struct complex_number across = difference(b, c);
            const struct complex_number near = sum(sum(first, times(outer, root.re)), times(inner, square.re));
            const struct complex_number far = sum(sum(first, times(outer, square.re)), times(inner, root.re));
            const struct complex_number near_turned =
                sum(quarter_turn(around, root.im), quarter_turn(across, square.im));
            const struct complex_number far_turned =
                difference(quarter_turn(across, root.im), quarter_turn(around, square.im));

            pairs[i] = sum(first, sum(outer, inner));
            pairs[i + done] = difference(near, near_turned);
            pairs[i + 2 * done] = sum(far, far_turned);
            pairs[i + 3 * done] = difference(far, far_turned);
            pairs[i + 4 * done] = sum(near, near_turned);
        }
    }
}

/* `stage` numbers are joined from a third as many. */
static inline void join_threes(const struct tg_fft *fft, struct complex_number *pairs, int32_t stage)
{
    const struct complex_number *twiddles = fft->twiddles;
    const int32_t count = pairs_of(fft);
    const int32_t done = stage / 3;
    const int32_t stride = count / stage;
    const struct complex_number root = twiddles[count / 3];

    for (int32_t at = 0; at < done; at++) {
        for (int32_t i = at; i < count; i += stage) {
            const struct complex_number first = divided(pairs[i], 3);
            const struct complex_number a = product(divided(pairs[i + done], 3), twiddles[at * stride]);
            const struct complex_number b = product(divided(pairs[i + 2 * done], 3), twiddles[2 * at * stride]);
            const struct complex_number total = sum(a, b);
            const struct complex_number middle =
                difference(first, (struct complex_number){TG_HALF(total.re), TG_HALF(total.im)});
            const struct complex_number turned = quarter_turn(difference(a, b), root.im);

            pairs[i] = sum(first, total);
            pairs[i + done] = difference(middle, turned);
            pairs[i + 2 * done] = sum(middle, turned);
        }
    }
}

/* How many numbers they have joined. */
static inline int32_t odd_stages(const struct tg_fft *fft, struct complex_number *pairs)
{
    int32_t done = 1;

    for (int32_t i = 0; i < fft->fives; i++) {
        done *= 5;
        join_fives(fft, pairs, done);
    }
    for (int32_t i = 0; i < fft->threes; i++) {
        done *= 3;
        join_threes(fft, pairs, done);
    }
    return done;
}

#endif
