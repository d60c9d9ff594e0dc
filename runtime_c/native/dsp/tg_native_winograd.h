/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Convolution with 3x3 filters by Winograd's method, exact in integers: at stride 1 tiles of the output, of 2x2 or 4x4,
 * from 4x4 or 6x6 transformed inputs ("positions"), with one multiplication for each of these and each input channel.
 * Tiles of 1x2 are transformed along the rows alone: 4 positions, with one multiplication for each row of the filter
 * and each input channel. Tiles of 2x2 at stride 2 have 5x5 positions, some of which share filters or are added up.
 *
 * `values` holds for each position, and of each for two input channels (of 1x2 for those of each row of the filter), a
 * word of two 16-bit numbers for each tile. `stream` holds for each pair of output channels, in words:
 *
 *     for each transformed filter and each two input channels (k, k'): c0[k] c0[k']   c1[k] c1[k']    16 bits each
 *     bias (scaled as the results are), multiplier, offset, shift of channel 0, then of channel 1: see tg_native_gemm.h
 *
 * Filters may stand there as they are, too: then those of a pair are transformed before each few tiles, into scratch.
 */
#ifndef TG_NATIVE_WINOGRAD_H
#define TG_NATIVE_WINOGRAD_H

#include "tg_native.h"
#include "tg_native_arithmetic.h"
#include "tg_native_names.h"

#define TG_WINOGRAD_TILES 4  /* that are multiplied at once, at most */
#define TG_WINOGRAD_TAPS 36  /* of a tile, at most */
#define TG_WINOGRAD_SCALES 4 /* words for each channel behind the weights */
#define TG_WINOGRAD_BYTES 18 /* words of the filters of two channels for 4 input channels, as they are */

/** Products of a position: 2 channels of each tile. */
#define TG_WINOGRAD_LANES(tiles) (2 * (tiles))

/** What is under one tile: `values` is advanced by a position in `step` words. */
struct tg_native_taps {
    const int8_t *at[TG_WINOGRAD_TAPS]; /**< the first channel of each pixel */
    int32_t depth;                      /**< channels, at least 4 */
    int32_t step;
};

/** Where the outputs of one tile go; at the ends of the output fewer count than the tile has. */
struct tg_native_tile {
    int8_t *output;
    int32_t rows;
    int32_t columns;
    int32_t row_step; /**< bytes */
    int32_t column_step;
};

/**
 * The sums over all input channels: at each position for channel 0 those of each tile, then for channel 1.
 *
 * `quads`: numbers of a position / 4; `positions`: those that are stored.
 */
typedef void tg_native_winograd_multiply(
    const int32_t *stream, const uint32_t *values, int32_t quads, int32_t positions, uint32_t *products);

tg_native_winograd_multiply tg_native_winograd_multiply_1; /* of 1 tile */
tg_native_winograd_multiply tg_native_winograd_multiply_2;
tg_native_winograd_multiply tg_native_winograd_multiply_4;

/** Positions whose products are added up: their filters follow one another in the stream. */
struct tg_native_winograd_sum {
    uint8_t filter; /**< the first */
    uint8_t count;
};

/** The same for 4 tiles where the products of several positions are added up, `count` times. */
void tg_native_winograd_multiply_sums(const int32_t *stream, const uint32_t *values, int32_t quads,
    const struct tg_native_winograd_sum *sums, int32_t count, uint32_t *products);

/** One size of tiles. */
struct tg_native_winograd {
    int32_t rows; /**< of a tile */
    int32_t columns;
    int32_t stride;
    int32_t tiles; /**< that are multiplied at once */
    int32_t positions;
    int32_t products;    /**< that are stored: fewer than positions where those of some are added up */
    int32_t filters;     /**< transformed ones: fewer than positions where some share theirs */
    int32_t filter_rows; /**< that a position sums over */
    tg_native_winograd_multiply *multiply;
    /** Transforms the input under a tile into one lane of `values`. */
    void (*spread)(const struct tg_native_taps *taps, uint32_t *values);
    /** Transforms the products back into outputs of a pair of channels, the first one numbered `channel`. */
    void (*collect)(
        uint32_t *products, const int32_t *scales, const struct tg_native_tile *tiles, int32_t count, int32_t channel);
};

/**
 * Transforms the filters of a pair of channels. `stream`: for each 4 input channels and each of the 9 places of a
 * filter a word of 4 bytes for channel 0, then for channel 1. `filters`: as they stand in a stream that holds them
 * transformed.
 */
typedef void tg_native_winograd_transform(const int32_t *stream, int32_t quads, int32_t *filters);

extern const struct tg_native_winograd tg_native_winograd_4x4;

/** Runs a convolution whose stream holds transformed filters. */
void tg_native_winograd(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch,
    const struct tg_native_winograd *method);

/** The same where it holds them as they are; NULL: transformed. */
void tg_native_winograd_of_bytes(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output,
    void *scratch, const struct tg_native_winograd *method, tg_native_winograd_transform *transform);

/** Four channels of a pixel, the lowest `bits` left out. */
static inline uint32_t tg_channels(const int8_t *pixel, int32_t first, int32_t bits)
{
    return tg_word(pixel + first) >> bits;
}

/** Sum and difference of two pairs of 16-bit numbers. */
static inline uint32_t tg_add16(uint32_t a, uint32_t b)
{
#if TG_NATIVE_DSP
    uint32_t result;
    __asm__("sadd16 %0, %1, %2" : "=r"(result) : "r"(a), "r"(b));
    return result;
#else
    return ((a & 0x7fff7fffU) + (b & 0x7fff7fffU)) ^ ((a ^ b) & 0x80008000U);
#endif
}

static inline uint32_t tg_sub16(uint32_t a, uint32_t b)
{
#if TG_NATIVE_DSP
    uint32_t result;
    __asm__("ssub16 %0, %1, %2" : "=r"(result) : "r"(a), "r"(b));
    return result;
#else
    return ((a | 0x80008000U) - (b & 0x7fff7fffU)) ^ ((a ^ ~b) & 0x80008000U);
#endif
}

/** How the accumulators of a channel become outputs; loaded once, as stores of bytes may be stores to anything. */
struct tg_native_scale {
    int32_t multiplier;
    int32_t offset;
    int32_t shift;
};

static inline struct tg_native_scale tg_scale_at(const int32_t *words)
{
    return (struct tg_native_scale){words[0], words[1], words[2]};
}

/** An output from twice its accumulator. */
static inline int8_t tg_requantized(int32_t doubled, struct tg_native_scale scale)
{
    return (int8_t)tg_saturated(tg_scaled(doubled, scale.multiplier, scale.offset + (doubled >> 31)) >> scale.shift);
}

#endif
