/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Logarithms of mel energies as numbers of type TG_OUTPUT, which TG_STORED makes of int32_t; included by the function
 * TG_FUNCTION.
 */
#include "tg_log_mel.h"
#include "tg_spectrum.h"

#define FRACTION_BITS 27 /* of 32, behind the number of an entry of `bends` */

/* Samples 2 i and 2 i + 1 of a frame less the emphasis, under the window; nothing behind its end. */
static inline struct tg_complex windowed(const struct tg_log_mel *layer, const int16_t *frame, int32_t i)
{
    const struct tg_complex nothing = {0, 0};
    const int16_t *const weights = layer->window + 2 * i;
    struct tg_complex found;
    int32_t even;
    int32_t odd;

    if (2 * i >= layer->length) {
        return nothing;
    }
    even = frame[2 * i] * layer->gain;
    odd = frame[2 * i + 1] * layer->gain;
    if (layer->emphasis != 0) {
        even -= (frame[2 * i - 1] * layer->emphasis) >> layer->emphasis_shift;
        odd -= (frame[2 * i] * layer->emphasis) >> layer->emphasis_shift;
    }
    found.re = tg_times_q16(even, weights[0]);
    found.im = tg_times_q16(odd, weights[1]);
    return found;
}

/* Four points of the transform, or twice two; `i` is the reversed number of the first one. */
static inline void begin(
    const struct tg_log_mel *layer, const int16_t *frame, int32_t i, int32_t is_odd, struct tg_complex *points)
{
    const struct tg_complex a = windowed(layer, frame, i);
    const struct tg_complex b = windowed(layer, frame, i + layer->points / 2);
    const struct tg_complex c = windowed(layer, frame, i + layer->points / 4);
    const struct tg_complex d = windowed(layer, frame, i + layer->points / 4 * 3);
    const struct tg_complex low = tg_plus(a, b);
    const struct tg_complex low_difference = tg_minus(a, b);
    const struct tg_complex high = tg_plus(c, d);
    const struct tg_complex high_difference = tg_minus(c, d);

    if (is_odd) {
        points[0] = low;
        points[1] = low_difference;
        points[2] = high;
        points[3] = high_difference;
    } else {
        tg_combine(points, 1, low, low_difference, high, high_difference);
    }
}

#if TG_SPECTRUM_MVE

/* `windowed` of four points. */
static inline int32x4x2_t four_windowed(const struct tg_log_mel *layer, const int16_t *frame, int32_t i)
{
    const int32_t left = layer->length - 2 * i;
    const mve_pred16_t inside = vctp16q(left > 0 ? (uint32_t)left : 0);
    const int16x8_t samples = vldrhq_z_s16(frame + 2 * i, inside);
    const int16x8_t weights = vldrhq_z_s16(layer->window + 2 * i, inside);
    int32x4x2_t found = {
        {vmulq_n_s32(vmovlbq_s16(samples), layer->gain), vmulq_n_s32(vmovltq_s16(samples), layer->gain)}};

    if (layer->emphasis != 0) {
        const int16x8_t before = vldrhq_z_s16(frame + 2 * i - 1, inside);

        for (int32_t part = 0; part < 2; part++) {
            const int32x4_t former = part == 0 ? vmovlbq_s16(before) : vmovltq_s16(before);
            const int32x4_t less = vshlq_r_s32(vmulq_n_s32(former, layer->emphasis), -layer->emphasis_shift);

            found.val[part] = vsubq_s32(found.val[part], less);
        }
    }
    found.val[0] = vmulhq_s32(found.val[0], vshlq_n_s32(vmovlbq_s16(weights), 16));
    found.val[1] = vmulhq_s32(found.val[1], vshlq_n_s32(vmovltq_s16(weights), 16));
    return found;
}

/* `begin` for four reversed numbers from `i` on. */
static inline void begin_four(
    const struct tg_log_mel *layer, const int16_t *frame, int32_t i, int32_t is_odd, struct tg_complex *points)
{
    const int32_t quarter = layer->points / 4;
    const uint32x4_t numbers = vbrsrq_n_u32(vidupq_n_u32((uint32_t)i, 1), 31 - __builtin_clz((uint32_t)quarter));
    const uint32x4_t lanes = vshlq_n_u32(numbers, 3); /* words of four points */
    const int32x4x2_t a = four_windowed(layer, frame, i);
    const int32x4x2_t b = four_windowed(layer, frame, i + 2 * quarter);
    const int32x4x2_t c = four_windowed(layer, frame, i + quarter);
    const int32x4x2_t d = four_windowed(layer, frame, i + 3 * quarter);

    if (is_odd) {
        tg_scatter_points(points, lanes, tg_plus_mve(a, b));
        tg_scatter_points(points + 1, lanes, tg_minus_mve(a, b));
        tg_scatter_points(points + 2, lanes, tg_plus_mve(c, d));
        tg_scatter_points(points + 3, lanes, tg_minus_mve(c, d));
    } else {
        const struct tg_quarters result = tg_combined_mve(a, b, c, d);

        for (int32_t part = 0; part < 4; part++) {
            tg_scatter_points(points + part, lanes, result.part[part]);
        }
    }
}

TG_STEP void begin_fours(
    const struct tg_log_mel *layer, const int16_t *frame, int32_t is_odd, struct tg_complex *points)
{
    for (int32_t i = 0; i < layer->points / 4; i += TG_LANES) {
        begin_four(layer, frame, i, is_odd, points);
    }
}

#endif

/* The first step of the transform, from samples. */
static void begin_all(const struct tg_log_mel *layer, const int16_t *frame, int32_t is_odd, struct tg_complex *points)
{
    const int32_t count = layer->points;
    int32_t reversed = 0;

#if TG_SPECTRUM_MVE
    if (count >= 4 * TG_LANES) {
        begin_fours(layer, frame, is_odd, points);
        return;
    }
#endif
    for (int32_t i = 0; i < count; i += 4) {
        begin(layer, frame, reversed, is_odd, points + i);
        reversed = tg_reversed_next(reversed, count / 4);
    }
}

/* The transform of a frame. */
static void transform(const struct tg_log_mel *layer, const int16_t *frame, struct tg_complex *points)
{
    const int32_t is_odd = tg_is_odd_power(layer->points);

    begin_all(layer, frame, is_odd, points);
    tg_transform(points, layer->points, is_odd ? 2 : 4, layer->turns);
}

/* log2 of a number that is not 0, Q16. */
static int32_t logarithm(uint64_t value, const int16_t *bends)
{
    const int32_t exponent = 63 - __builtin_clzll(value);
    const uint32_t fraction = (uint32_t)(exponent > 32 ? value >> (exponent - 32) : value << (32 - exponent));
    const int16_t *const entry = bends + (fraction >> FRACTION_BITS);
    const int32_t behind = (int32_t)(fraction >> (FRACTION_BITS - 16) & 0xFFFFU);
    const int32_t bend = entry[0] + (((entry[1] - entry[0]) * behind + 0x8000) >> 16);

    return exponent * 0x10000 + (int32_t)(fraction >> 16) + bend;
}

static TG_OUTPUT quantized(const struct tg_log_mel *layer, uint64_t energy)
{
    int64_t value;

    if (energy == 0) {
        return TG_STORED(layer->lowest);
    }
    value = ((int64_t)logarithm(energy, layer->bends) * layer->octave + layer->bias) >> 32;
    value = value < layer->lowest ? layer->lowest : value;
    value = value > layer->highest ? layer->highest : value;
    return TG_STORED((int32_t)value);
}

/* A bin belongs to the band that rises there, and with what is left of it to the one that falls. */
static void gather(const struct tg_log_mel *layer, const struct tg_complex *powers, TG_OUTPUT *output)
{
    const int16_t *rises = layer->rises;
    uint64_t rising = 0;

    for (int32_t band = 0; band <= layer->bands; band++) {
        const int32_t bins = layer->edges[band + 1] - layer->edges[band];
        const struct tg_sums sums = tg_weighted(powers + layer->edges[band], rises, bins);

        if (band > 0) {
            *output++ = quantized(layer, rising + (sums.whole - sums.weighted));
        }
        rising = sums.weighted;
        rises += bins;
    }
}

void TG_FUNCTION(const struct tg_log_mel *layer, const int16_t *samples, TG_OUTPUT *output, int8_t *scratch)
{
    struct tg_complex *const points = (struct tg_complex *)(void *)scratch;
    const int16_t *frame = samples + (layer->emphasis != 0);

    for (int32_t i = 0; i < layer->frames; i++) {
        transform(layer, frame, points);
        tg_powers(points, layer->points, layer->halves);
        gather(layer, points, output);
        frame += layer->hop;
        output += layer->bands;
    }
}
