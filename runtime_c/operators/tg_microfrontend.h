/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Features of sound, from samples to logarithms of energies in channels.
 */
#ifndef TG_MICROFRONTEND_H
#define TG_MICROFRONTEND_H

#include "tg_signal.h"

/** What becomes of each frame. */
struct tg_microfrontend {
    int32_t frames;
    int32_t size;           /**< samples of a frame, at most those of a transform */
    int32_t step;           /**< from the beginning of a frame to that of the next */
    const int16_t *factors; /**< [size], Q12 */
    struct tg_fft fft;
    struct tg_filter_bank bank;
    struct tg_noise_reduction noise;
    struct tg_gain_control gain;   /**< `gains` is NULL where there is no gain control */
    struct tg_logarithm logarithm; /**< `table` is NULL where there is none, but for the limit */
};

/**
 * `samples` are those of all frames, `noise` is [channels] and becomes the next one, `output` is [frames][channels].
 * `memory` is for as many uint32_t as a transform has pairs, and one; where `noise` is NULL, for one a channel in front
 * of these, and each call begins with none.
 */
void tg_microfrontend(
    const struct tg_microfrontend *layer, const int16_t *samples, uint32_t *noise, int32_t *output, void *memory);

#endif
