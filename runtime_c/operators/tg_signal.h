/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operators of audio front ends: windows, Fourier transforms, banks of filters, noise, gains, logarithms. Complex
 * numbers stand as pairs, the real part first. Right shifts of negative numbers are arithmetic.
 */
#ifndef TG_SIGNAL_H
#define TG_SIGNAL_H

#include <stdint.h>

#include "tg_operator_names.h"

/** A window over each row of samples. */
struct tg_sample_window {
    int32_t rows;
    int32_t size;
    int32_t shift;
    const int16_t *factors; /**< [size] */
};

/** output = input * factors >> shift, within int16. The output may be the input. */
void tg_signal_window(const struct tg_sample_window *layer, const int16_t *input, int16_t *output);

/** The input shifted to the left as far as its largest magnitude allows, and by how many bits. */
void tg_auto_scale_s16(int32_t size, const int16_t *input, int16_t *output, int32_t *bits);

/** Complex numbers of a transform, and its twiddle factors, of the type of its numbers. */
struct tg_fft {
    unsigned int log2_pairs : 8; /**< pairs of real numbers, which are transformed as complex ones: 2^log2_pairs */
    unsigned int threes : 8;     /**< 3^threes times as many, where the radix is mixed */
    unsigned int fives : 8;      /**< 5^fives times as many */
    const void *twiddles;        /**< of its stages */
    const void *real_twiddles;   /**< [pairs / 2], to tell the spectrum of a real signal from that of its pairs */
};

/** Transforms of rows of real numbers. */
struct tg_real_fft {
    int32_t rows;
    int32_t size; /**< numbers of a row; behind them zeros are thought up to the transform's length */
    struct tg_fft fft;
};

/** `input` is [rows][size], `output` [rows][2 * (pairs + 1)], which must not overlap. */
void tg_rfft_s16(const struct tg_real_fft *layer, const int16_t *input, int16_t *output);

/** The same of int32. */
void tg_rfft_s32(const struct tg_real_fft *layer, const int32_t *input, int32_t *output);

/** The same of float32. */
void tg_rfft_f32(const struct tg_real_fft *layer, const float *input, float *output);

/** The inverse: `input` is [rows][2 * (pairs + 1)], `output` [rows][2 * pairs], which must not overlap. */
void tg_irfft_s16(const struct tg_real_fft *layer, const int16_t *input, int16_t *output);

/** The same of int32. */
void tg_irfft_s32(const struct tg_real_fft *layer, const int32_t *input, int32_t *output);

/** The same of float32, divided by the length of the signal. */
void tg_irfft_f32(const struct tg_real_fft *layer, const float *input, float *output);

/** The same where pairs have factors of 3 and 5 too. */
void tg_rfft_mixed_s16(const struct tg_real_fft *layer, const int16_t *input, int16_t *output);

void tg_rfft_mixed_s32(const struct tg_real_fft *layer, const int32_t *input, int32_t *output);

void tg_rfft_mixed_f32(const struct tg_real_fft *layer, const float *input, float *output);

void tg_irfft_mixed_s16(const struct tg_real_fft *layer, const int16_t *input, int16_t *output);

void tg_irfft_mixed_s32(const struct tg_real_fft *layer, const int32_t *input, int32_t *output);

void tg_irfft_mixed_f32(const struct tg_real_fft *layer, const float *input, float *output);

/** A range of a spectrum. */
struct tg_spectrum_range {
    int32_t bins;
    int32_t start;
    int32_t end;
};

/** re^2 + im^2 of complex numbers within the range, 0 of the others. */
void tg_spectrum_energy(const struct tg_spectrum_range *range, const int16_t *input, uint32_t *output);

/** Triangular filters: stretches of the spectrum, for each the weights of the filter that falls or rises there. */
struct tg_filter_bank {
    int32_t channels;
    const int16_t *rising;           /**< weights of filter c in stretch c, none negative */
    const int16_t *falling;          /**< of filter c + 1 */
    const int16_t *frequency_starts; /**< [channels + 1] */
    const int16_t *weight_starts;    /**< [channels + 1] */
    const int16_t *widths;           /**< [channels + 1] */
};

/** The sums of filters 1 to `channels`. */
void tg_filter_bank(const struct tg_filter_bank *layer, const uint32_t *input, uint64_t *output);

/** Square roots, rounded, less the last `*bits`. */
void tg_filter_bank_root(int32_t size, const uint64_t *input, const int32_t *bits, uint32_t *output);

/** How noise, a running mean of a signal, is taken off it; by 2 for channels with even and odd numbers. */
struct tg_noise_reduction {
    uint32_t smoothing[2];
    uint32_t one_minus_smoothing[2];
    uint32_t min_signal_remaining;
    int32_t smoothing_bits;
    int32_t fraction_bits;
    int32_t clamps; /**< the mean never exceeds the signal */
};

/** The noise becomes the next one where it lies. The output may be the input. */
void tg_spectral_subtraction(
    const struct tg_noise_reduction *layer, int32_t channels, const uint32_t *input, uint32_t *noise, uint32_t *output);

/** Gains by the noise: two values, then a curve of degree 2 for each number of bits from 2 to 32. */
struct tg_gain_control {
    int32_t shift;
    const int16_t *gains; /**< [125] */
};

/** The input times the gain of its noise, shrunk. The output may be the input. */
void tg_gain_control(const struct tg_gain_control *layer, int32_t channels, const uint32_t *input,
    const uint32_t *noise, uint32_t *output);

/** scale * log(signal * 2^correction_bits), within 0 to `limit`. */
struct tg_logarithm {
    uint32_t scale;
    int32_t correction_bits;
    uint32_t limit;
    const int16_t *table; /**< [129], by how much log2(1 + i / 128) is above i / 128, in 2^-16 */
};

void tg_filter_bank_log(const struct tg_logarithm *layer, int32_t channels, const uint32_t *input, int16_t *output);

/** Frames that are added up where they overlap. */
struct tg_overlap_add {
    int32_t rows;
    int32_t frames;
    int32_t size;
    int32_t step;
};

/** `input` is [rows][frames][size], `output` [rows][frames * step]; `rest` is [rows][size], and the next one at the
 * end. */
void tg_overlap_add_s16(const struct tg_overlap_add *layer, const int16_t *input, int16_t *rest, int16_t *output);

/** The same of float32. */
void tg_overlap_add_f32(const struct tg_overlap_add *layer, const float *input, float *rest, float *output);

#endif
