/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions and fully connected layers on float32 whose weights are narrow codes, decoded as they are needed.
 */
#ifndef TG_CODED_H
#define TG_CODED_H

#include "tg_float.h"

/** What a code of 8 or 16 bits stands for; shorter ones are looked up. */
enum tg_number {
    TG_INT8,
    TG_UINT8,
    TG_E4M3,
    TG_E5M2,
    TG_HALF, /**< of 16 bits, of convolutions alone, without zero points */
};

/** In which format scales are stored. */
enum tg_scale_format {
    TG_SCALE_F32,
    TG_SCALE_F16,
    TG_SCALE_E8M0,
};

/**
 * Weights [output channels, kernel height, kernel width, depth] as codes: each weight is its scale times the difference
 * of its code's number and that of its zero point. Scales are for blocks of `block` channels of the depth.
 */
struct tg_codes {
    int32_t bits;       /**< of a code: 16, 8, 4 or 2, packed without gaps from the lowest bit of the first byte on */
    int32_t block;      /**< divides the depth */
    int32_t next_scale; /**< scales from one filter to the next: 0 where all have the same */
    enum tg_number number;
    enum tg_scale_format scale_format;
    const uint8_t *codes;
    const void *scales;
    const uint8_t *zero_points; /**< a code for each scale, or NULL */
    const float *levels;        /**< numbers by their codes, where these have less than 8 bits */
};

/** tg_convolve_f32() with such weights; scratch: one filter, kernel height * kernel width * depth floats. */
void tg_convolve_coded_f32(const struct tg_window *window, const struct tg_codes *codes, const float *bias,
    const float *input, float *output, float *scratch);

/** One vector of `features` times weights [units, features]; bias may be NULL. */
void tg_fully_connected_coded_f32(int32_t features, int32_t units, const struct tg_codes *codes, const float *bias,
    const struct tg_bounds_f32 *bounds, const float *input, float *output);

#endif
