/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Spectra in channels.
 */
#include "tg_signal_arithmetic.h"

/* file: tg_filter_bank_log.c */

void tg_filter_bank_log(const struct tg_logarithm *layer, int32_t channels, const uint32_t *input, int16_t *output)
{
    for (int32_t i = 0; i < channels; i++) {
        output[i] = (int16_t)tg_log(layer, input[i]);
    }
}

/* file: tg_filter_bank_root.c */

void tg_filter_bank_root(int32_t size, const uint64_t *input, const int32_t *bits, uint32_t *output)
{
    const uint32_t shift = (uint32_t)*bits & 31U;

    for (int32_t i = 0; i < size; i++) {
        output[i] = tg_root(input[i]) >> shift;
    }
}

/* file: tg_filter_bank_sums.c */

void tg_filter_bank(const struct tg_filter_bank *layer, const uint32_t *input, uint64_t *output)
{
    uint64_t sum = 0;
    uint64_t next;

    for (int32_t stretch = 0; stretch <= layer->channels; stretch++) {
        tg_add_stretch(layer, stretch, input, &sum, &next);
        if (stretch > 0) {
            output[stretch - 1] = sum;
        }
        sum = next;
    }
}

/* file: tg_gain_control.c */

void tg_gain_control(const struct tg_gain_control *layer, int32_t channels, const uint32_t *input,
    const uint32_t *noise, uint32_t *output)
{
    for (int32_t i = 0; i < channels; i++) {
        output[i] = tg_gained(layer, input[i], noise[i]);
    }
}

/* file: tg_spectral_subtraction.c */

void tg_spectral_subtraction(
    const struct tg_noise_reduction *layer, int32_t channels, const uint32_t *input, uint32_t *noise, uint32_t *output)
{
    for (int32_t i = 0; i < channels; i++) {
        output[i] = tg_without_noise(layer, i, input[i], &noise[i]);
    }
}

/* file: tg_spectrum_energy.c */

void tg_spectrum_energy(const struct tg_spectrum_range *range, const int16_t *input, uint32_t *output)
{
    for (int32_t i = 0; i < range->bins; i++) {
        const int32_t re = input[2 * i];
        const int32_t im = input[2 * i + 1];

        output[i] = i >= range->start && i < range->end ? (uint32_t)(re * re) + (uint32_t)(im * im) : 0U;
    }
}
