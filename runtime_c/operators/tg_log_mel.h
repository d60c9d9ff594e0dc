/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Logarithms of mel energies of a signal, in fixed point: an audio front end.
 */
#ifndef TG_LOG_MEL_H
#define TG_LOG_MEL_H

#include <stdint.h>

#include "tg_operator_names.h"

/**
 * How the energies of a signal's frames are computed.
 *
 * A frame is `length` samples, each `hop` behind the last, and where there is an emphasis the sample before them. Of
 * their differences, windowed, the discrete Fourier transform has 2 * `points` bins.
 *
 * A rotation is a word: the cosine in its lower half, the sine in its upper one, both Q15.
 */
struct tg_log_mel {
    int32_t frames;
    int32_t hop;
    int32_t length;         /**< even, at most 2 * points */
    int32_t points;         /**< a power of two, at least 8 */
    int32_t emphasis;       /**< Q15: the share of the sample before that is taken off */
    int32_t gain;           /**< a power of two: full scale is 2^14 times as much in the transform */
    int32_t emphasis_shift; /**< from products with `emphasis` to that scale, doubled */
    int32_t bands;
    int32_t octave; /**< Q16: by how much outputs grow where energies double */
    int32_t lowest; /**< of the outputs */
    int32_t highest;
    int64_t bias;          /**< Q32: the output for an energy of 1, in units of the transform, plus a half */
    const int16_t *window; /**< [length], Q15 */
    const int32_t *turns;  /**< [points / 4][3]: by i, 2 i and 3 i of `points` parts of a circle */
    const int32_t *halves; /**< [points / 2]: by i of 2 * `points` parts of a circle */
    const int16_t *edges;  /**< [bands + 2]: the bins from which bands rise; they fall to the next edge but one */
    const int16_t *rises;  /**< Q15: weights of the bins from the first edge to the last in the band that rises */
    const int16_t *bends;  /**< [33]: log2(1 + i / 32) - i / 32, Q16 */
};

/** `output` is [frames][bands]; `scratch` has 8 * points bytes, aligned to 4. */
void tg_log_mel_s16_s8(const struct tg_log_mel *layer, const int16_t *samples, int8_t *output, int8_t *scratch);

/** The same with outputs of int16. */
void tg_log_mel_s16_s16(const struct tg_log_mel *layer, const int16_t *samples, int16_t *output, int8_t *scratch);

/** The same with real outputs, in steps of 2^-16. */
void tg_log_mel_s16_f32(const struct tg_log_mel *layer, const int16_t *samples, float *output, int8_t *scratch);

#endif
