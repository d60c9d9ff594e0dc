/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From the spectrum of pairs to that of the real numbers, where it lies; behind tg_fft_body.h.
 */

/** One more number comes behind the pairs. */
static inline void unpack(const struct tg_fft *fft, struct complex_number *pairs)
{
    const struct complex_number *twiddles = fft->real_twiddles;
    const int32_t count = pairs_of(fft);
    const struct complex_number ends = divided(pairs[0], 2);

    pairs[0] = (struct complex_number){TG_ADD(ends.re, ends.im), 0};
    pairs[count] = (struct complex_number){TG_SUBTRACT(ends.re, ends.im), 0};
    for (int32_t i = 1; i <= count / 2; i++) {
        const struct complex_number other = pairs[count - i];
        const struct complex_number near = divided(pairs[i], 2);
        const struct complex_number far = divided((struct complex_number){other.re, TG_NEGATED(other.im)}, 2);
        const struct complex_number even = sum(near, far);
        const struct complex_number odd = product(difference(near, far), twiddles[i - 1]);

        pairs[i] = (struct complex_number){TG_HALF_SUM(even.re, odd.re), TG_HALF_SUM(even.im, odd.im)};
        pairs[count - i] =
            (struct complex_number){TG_HALF_DIFFERENCE(even.re, odd.re), TG_HALF_DIFFERENCE(odd.im, even.im)};
    }
}
