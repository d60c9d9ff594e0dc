/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_microfrontend.h"

#include <string.h>

#include "tg_fft_s16.h"

#include "tg_fft_body.h"
#include "tg_rfft_unpack.h"
#include "tg_signal_arithmetic.h"

/* The sample times the window. */
static int16_t weighted(const struct tg_microfrontend *layer, const int16_t *frame, int32_t i)
{
    return (int16_t)((frame[i] * layer->factors[i]) >> 12);
}

/* By how many bits a frame can be scaled up. -32768 is none of the numbers that are looked at. */
static int32_t spare_bits(const struct tg_microfrontend *layer, const int16_t *frame)
{
    int32_t largest = 0;

    for (int32_t i = 0; i < layer->size; i++) {
        const int32_t value = weighted(layer, frame, i);
        const int32_t magnitude = value < 0 ? -value : value;

        if (magnitude > largest && magnitude <= INT16_MAX) {
            largest = magnitude;
        }
    }
    return 15 - tg_bit_length((uint32_t)largest);
}

/* The frame as pairs at their places, scaled up, with zeros behind it. */
static void place_frame(
    const struct tg_microfrontend *layer, const int16_t *frame, int32_t shift, struct complex_number *pairs)
{
    const int32_t count = pairs_of(&layer->fft);

    for (int32_t i = 0; i < count; i++) {
        struct complex_number *pair = &pairs[place_of(&layer->fft, (uint32_t)i)];

        pair->re = 2 * i < layer->size ? (int16_t)((uint32_t)weighted(layer, frame, 2 * i) << shift) : 0;
        pair->im = 2 * i + 1 < layer->size ? (int16_t)((uint32_t)weighted(layer, frame, 2 * i + 1) << shift) : 0;
    }
}

/* Energies of the frequencies that filters reach, each in the memory of its complex number. */
static void find_energies(const struct tg_filter_bank *bank, struct complex_number *pairs)
{
    const int32_t end = bank->frequency_starts[bank->channels] + bank->widths[bank->channels];

    for (int32_t i = bank->frequency_starts[0]; i < end; i++) {
        const int32_t re = pairs[i].re;
        const int32_t im = pairs[i].im;
        const uint32_t energy = (uint32_t)(re * re) + (uint32_t)(im * im);

        memcpy(&pairs[i], &energy, sizeof energy);
    }
}

static uint32_t feature(const struct tg_microfrontend *layer, int32_t channel, uint32_t level, uint32_t *noise)
{
    uint32_t signal = tg_without_noise(&layer->noise, channel, level, noise);

    if (layer->gain.gains != NULL) {
        signal = tg_gained(&layer->gain, signal, *noise);
    }
    if (layer->logarithm.table != NULL) {
        return tg_log(&layer->logarithm, signal);
    }
    return signal < layer->logarithm.limit ? signal : layer->logarithm.limit;
}

void tg_microfrontend(
    const struct tg_microfrontend *layer, const int16_t *samples, uint32_t *noise, int32_t *output, void *memory)
{
    const int32_t channels = layer->bank.channels;
    void *spectrum = memory;
    const uint32_t *energies;
    struct complex_number *pairs;

    if (noise == NULL) {
        noise = memory;
        spectrum = noise + channels;
        memset(noise, 0, (size_t)channels * sizeof *noise);
    }
    energies = spectrum;
    pairs = spectrum;
    for (int32_t frame = 0; frame < layer->frames; frame++) {
        const int32_t shift = spare_bits(layer, samples);
        uint64_t sum = 0;
        uint64_t next;

        place_frame(layer, samples, shift, pairs);
        transform(&layer->fft, pairs, -1);
        unpack(&layer->fft, pairs);
        find_energies(&layer->bank, pairs);
        tg_add_stretch(&layer->bank, 0, energies, &sum, &next);
        for (int32_t channel = 0; channel < channels; channel++) {
            sum = next;
            tg_add_stretch(&layer->bank, channel + 1, energies, &sum, &next);
            *output++ = (int32_t)feature(layer, channel, tg_root(sum) >> shift, &noise[channel]);
        }
        samples += layer->step;
    }
}
