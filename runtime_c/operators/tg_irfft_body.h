/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Signals of which rows are spectra; included by the function TG_FUNCTION behind the arithmetic of its numbers, with
 * TG_SHARE where results are still to be divided by their number.
 */
#include "tg_fft_body.h"

void TG_FUNCTION(const struct tg_real_fft *layer, const TG_NUMBER *input, TG_NUMBER *output)
{
    const struct tg_fft *fft = &layer->fft;
    const struct complex_number *twiddles = fft->real_twiddles;
    const int32_t count = pairs_of(fft);

    for (int32_t row = 0; row < layer->rows; row++) {
        const void *given = input;
        const struct complex_number *bins = given;
        void *room = output;
        struct complex_number *pairs = room;

        pairs[0] = divided(
            (struct complex_number){TG_ADD(bins[0].re, bins[count].re), TG_SUBTRACT(bins[0].re, bins[count].re)}, 2);
        for (int32_t i = 1; i <= count / 2; i++) {
            const struct complex_number other = bins[count - i];
            const struct complex_number near = divided(bins[i], 2);
            const struct complex_number far = divided((struct complex_number){other.re, TG_NEGATED(other.im)}, 2);
            const struct complex_number even = sum(near, far);
            const struct complex_number odd = product(difference(near, far), twiddles[i - 1]);
            const struct complex_number below = difference(even, odd);

            pairs[place_of(fft, (uint32_t)i)] = sum(even, odd);
            pairs[place_of(fft, (uint32_t)(count - i))] = (struct complex_number){below.re, TG_NEGATED(below.im)};
        }
        transform(fft, pairs, 1);
#ifdef TG_SHARE
        for (int32_t i = 0; i < 2 * count; i++) {
            output[i] = TG_SHARE(output[i], 2 * count);
        }
#endif
        input += 2 * (count + 1);
        output += 2 * count;
    }
}
