/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Spectra of rows of real numbers; included by the function TG_FUNCTION behind the arithmetic of its numbers.
 */
#include "tg_fft_body.h"
#include "tg_rfft_unpack.h"

void TG_FUNCTION(const struct tg_real_fft *layer, const TG_NUMBER *input, TG_NUMBER *output)
{
    const struct tg_fft *fft = &layer->fft;
    const int32_t count = pairs_of(fft);

    for (int32_t row = 0; row < layer->rows; row++) {
        void *room = output;
        struct complex_number *pairs = room;

        for (int32_t i = 0; i < count; i++) {
            const TG_NUMBER re = 2 * i < layer->size ? input[2 * i] : 0;
            const TG_NUMBER im = 2 * i + 1 < layer->size ? input[2 * i + 1] : 0;

            pairs[place_of(fft, (uint32_t)i)] = (struct complex_number){re, im};
        }
        transform(fft, pairs, -1);
        unpack(fft, pairs);
        input += layer->size;
        output += 2 * (count + 1);
    }
}
