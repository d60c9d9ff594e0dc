/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What operators of audio front ends compute for one channel.
 */
#ifndef TG_SIGNAL_ARITHMETIC_H
#define TG_SIGNAL_ARITHMETIC_H

#include "tg_signal.h"

/** Bits that a number takes; 0 for 0. */
static inline int32_t tg_bit_length(uint32_t value)
{
    int32_t bits = 0;

    for (int32_t step = 16; step > 0; step >>= 1) {
        if (value >> step != 0) {
            value >>= step;
            bits += step;
        }
    }
    return bits + (int32_t)value;
}

/** The square root, rounded to the nearest, at most 65535. */
static inline uint32_t tg_root_32(uint32_t value)
{
    const int32_t length = tg_bit_length(value);
    uint32_t root = 0;
    uint32_t rest = value;

    for (uint32_t bit = length > 0 ? 1U << ((length - 1) & ~1) : 0; bit != 0; bit >>= 2) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return rest > root && root != UINT16_MAX ? root + 1U : root;
}

/** The same of 64 bits, at most UINT32_MAX; of what fits 32 bits at most 65535. */
static inline uint32_t tg_root(uint64_t value)
{
    const uint32_t high = (uint32_t)(value >> 32);
    uint64_t root = 0;
    uint64_t rest = value;

    if (high == 0) {
        return tg_root_32((uint32_t)value);
    }
    for (uint64_t bit = (uint64_t)1 << ((tg_bit_length(high) + 31) & ~1); bit != 0; bit >>= 2) {
        if (rest >= root + bit) {
            rest -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return (uint32_t)(rest > root && root != UINT32_MAX ? root + 1U : root);
}

/** A table's number as unsigned arithmetic takes it; a function, as GCC warns of the sign where a sum has the cast. */
static inline uint32_t tg_as_uint32(int16_t number)
{
    return (uint32_t)number;
}

/** A stretch of energies, times the weights of the filter that rises there and of the one that falls. */
static inline void tg_add_stretch(const struct tg_filter_bank *layer, int32_t stretch, const uint32_t *energies,
    uint64_t *rising_sum, uint64_t *falling_sum)
{
    const uint32_t *energy = energies + layer->frequency_starts[stretch];
    const int16_t *rising = layer->rising + layer->weight_starts[stretch];
    const int16_t *falling = layer->falling + layer->weight_starts[stretch];
    uint64_t first = *rising_sum;
    uint64_t second = 0;

    for (int32_t i = 0; i < layer->widths[stretch]; i++) {
        first += (uint64_t)energy[i] * tg_as_uint32(rising[i]);
        second += (uint64_t)energy[i] * tg_as_uint32(falling[i]);
    }
    *rising_sum = first;
    *falling_sum = second;
}

/** What is left of a signal without its noise, which becomes the next one. */
static inline uint32_t tg_without_noise(
    const struct tg_noise_reduction *layer, int32_t channel, uint32_t signal, uint32_t *noise)
{
    const int32_t which = channel & 1;
    const uint32_t scaled = signal << layer->smoothing_bits;
    const uint64_t products =
        (uint64_t)scaled * layer->smoothing[which] + (uint64_t)*noise * layer->one_minus_smoothing[which];
    const uint32_t mean = (uint32_t)(products >> layer->fraction_bits);
    const uint32_t taken = mean < scaled ? mean : scaled;
    const uint32_t least = (uint32_t)(((uint64_t)signal * layer->min_signal_remaining) >> layer->fraction_bits);
    const uint32_t left = (scaled - taken) >> layer->smoothing_bits;

    *noise = layer->clamps ? taken : mean;
    return left > least ? left : least;
}

/** The gain of a noise. */
static inline int16_t tg_gain(const int16_t *gains, uint32_t noise)
{
    const int32_t bits = tg_bit_length(noise);
    const int16_t *curve;
    int32_t part;
    int32_t slope;
    int32_t above;

    if (noise <= 2) {
        return gains[noise];
    }
    curve = gains + (4 * bits - 6);
    part = (int32_t)((bits < 11 ? noise << (11 - bits) : noise >> (bits - 11)) & 0x3FFU);
    slope = ((curve[2] * part) >> 5) + curve[1] * 32;
    above = (int32_t)((uint32_t)slope * (uint32_t)part + (1U << 14)) >> 15;
    return (int16_t)(above + curve[0]);
}

/** A signal times the gain of its noise, shrunk: x^2 / 4 below 2, x - 1 above. */
static inline uint32_t tg_gained(const struct tg_gain_control *layer, uint32_t signal, uint32_t noise)
{
    const uint32_t gain = (uint32_t)tg_gain(layer->gains, noise);
    const uint32_t ratio = (uint32_t)(((uint64_t)signal * gain) >> layer->shift);

    return ratio < (2U << 12) ? (ratio * ratio) >> 20 : (ratio >> 6) - (1U << 6);
}

/** The logarithm of a signal. */
static inline uint32_t tg_log(const struct tg_logarithm *layer, uint32_t signal)
{
    const int32_t correction = layer->correction_bits;
    const uint32_t value = correction < 0 ? signal >> -correction : signal << correction;
    uint32_t whole;
    uint32_t part;
    uint32_t log2;
    uint32_t result;
    const int16_t *curve;

    if (value <= 1) {
        return 0;
    }
    whole = (uint32_t)tg_bit_length(value) - 1U;
    part = value - (1U << whole);
    part = whole < 16 ? part << (16 - whole) : part >> (whole - 16);
    curve = layer->table + (part >> 9);
    log2 = (whole << 16) + part + tg_as_uint32(curve[0]);
    log2 += (uint32_t)(((curve[1] - curve[0]) * (int32_t)(part & 511U)) >> 16);
    result = (uint32_t)(((uint64_t)45426 * log2 + (1U << 15)) >> 16); /* 2^16 / log2(e) */
    result = (layer->scale * result + (1U << 15)) >> 16;
    return result < layer->limit ? result : layer->limit;
}

#endif
