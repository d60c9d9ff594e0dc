/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_dot_s8.h"
#include "tg_fixed_point.h"
#include "tg_huffman.h"

#include <stddef.h>
#include <string.h>

/*
 * What the next bits begin with: the first weight in the lowest byte, the second one in the next, where that has its
 * whole code there too, then the bits of both, and in the highest byte how many weights these are.
 */
#define TG_SECOND 8
#define TG_LENGTH 16
#define TG_COUNT 24

/* The weights that have codes, shortest first. */
struct alphabet {
    const uint8_t *counts; /* of each length */
    const uint8_t *weights;
    const uint8_t *stream; /* behind them */
};

static inline int32_t count_of(const struct alphabet *alphabet, int32_t length)
{
    const uint8_t *bytes = alphabet->counts + 2 * (length - 1);

    return bytes[0] | bytes[1] << 8;
}

static inline struct alphabet alphabet_of(const struct tg_huffman_fully_connected *layer)
{
    struct alphabet alphabet = {(const uint8_t *)layer->code, NULL, NULL};

    alphabet.weights = alphabet.counts + 2 * TG_HUFFMAN_LENGTHS;
    alphabet.stream = alphabet.weights;
    for (int32_t length = 1; length <= TG_HUFFMAN_LENGTHS; length++) {
        alphabet.stream += count_of(&alphabet, length);
    }
    return alphabet;
}

/* The entries of all bits that may follow a weight, so many of which are looked up; returns where they end. */
static uint32_t *fill_first(const struct alphabet *alphabet, uint32_t first, int32_t bits, uint32_t *entries)
{
    const uint32_t *end = entries + ((size_t)1 << bits);
    const uint8_t *second = alphabet->weights;

    for (int32_t length = 1; length <= bits; length++) {
        const uint32_t both = first + (1U << TG_COUNT) + ((uint32_t)length << TG_LENGTH);

        for (int32_t left = count_of(alphabet, length); left > 0; left--) {
            const uint32_t entry = both | (uint32_t)*second++ << TG_SECOND;

            for (int32_t copies = 1 << (bits - length); copies > 0; copies--) {
                *entries++ = entry;
            }
        }
    }
    while (entries != end) {
        *entries++ = first;
    }
    return entries;
}

/* The same as before it with another weight in front. */
static uint32_t *fill_next(uint32_t difference, int32_t bits, uint32_t *entries)
{
    const int32_t count = 1 << bits;
    const uint32_t *before = entries - count;
    int32_t left = count;

    for (; left >= 8; left -= 8) {
        entries[0] = before[0] + difference;
        entries[1] = before[1] + difference;
        entries[2] = before[2] + difference;
        entries[3] = before[3] + difference;
        entries[4] = before[4] + difference;
        entries[5] = before[5] + difference;
        entries[6] = before[6] + difference;
        entries[7] = before[7] + difference;
        entries += 8;
        before += 8;
    }
    for (; left > 0; left--) {
        *entries++ = *before++ + difference;
    }
    return entries;
}

static void fill(const struct alphabet *alphabet, int32_t bits, uint32_t *entries)
{
    const uint8_t *weights = alphabet->weights;

    for (int32_t length = 1; length <= bits; length++) {
        const int32_t count = count_of(alphabet, length);

        for (int32_t i = 0; i < count; i++) {
            const uint32_t first = weights[i] | (uint32_t)length << TG_LENGTH | 1U << TG_COUNT;

            entries = i == 0 ? fill_first(alphabet, first, bits - length, entries)
                             : fill_next((uint32_t)weights[i] - weights[i - 1], bits - length, entries);
        }
        weights += count;
    }
}

/* Bits from a position on, the first one the highest: 25 of them at least. */
static inline uint32_t bits_at(const uint8_t *stream, uint32_t position)
{
    const uint8_t *bytes = stream + (position >> 3);
    const uint32_t word = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];

    return word << (position & 7U);
}

static inline uint32_t length_of(uint32_t entry)
{
    return (uint8_t)(entry >> TG_LENGTH);
}

/* How far decoding has come. */
struct progress {
    uint32_t bits;
    uint32_t weights;
};

/* The weights of an entry. */
static inline struct progress put(uint32_t entry, int8_t *weights, struct progress from)
{
    const uint16_t both = (uint16_t)entry;
    const struct progress at = {from.bits + length_of(entry), from.weights + (entry >> TG_COUNT)};

    memcpy(weights + from.weights, &both, sizeof both); /* one store */
    return at;
}

/* Those of two entries, each of which has at most 12 bits. */
static inline struct progress put_two(
    const uint32_t *entries, uint32_t unused, const uint8_t *stream, int8_t *weights, struct progress from)
{
    const uint32_t window = bits_at(stream, from.bits);
    const uint32_t first = entries[window >> unused];
    const uint32_t second = entries[window << length_of(first) >> unused];

    return put(second, weights, put(first, weights, from));
}

/* Goes on until so many weights are there, and at most 7 more. */
static struct progress decode(
    const uint32_t *entries, int32_t bits, const uint8_t *stream, int8_t *weights, struct progress from, uint32_t count)
{
    const uint32_t unused = 32U - (uint32_t)bits;
    struct progress at = from;

    while (at.weights < count) {
        at = put_two(entries, unused, stream, weights, at);
        at = put_two(entries, unused, stream, weights, at);
    }
    return at;
}

static inline int8_t output_of(const struct tg_huffman_fully_connected *layer, int32_t sum, int32_t unit)
{
    const int32_t scale = layer->scales == 1 ? 0 : unit;

    return tg_stored_s8(
        tg_scale(sum, layer->multiplier[scale], layer->shift[scale]), layer->output_zero_point, layer->min, layer->max);
}

/* All vectors times some units from one on. */
static void multiply(const struct tg_huffman_fully_connected *layer, const int8_t *weights, int32_t unit, int32_t units,
    const int8_t *input, int8_t *output)
{
    const int32_t features = layer->features;
    const int32_t *bias = layer->bias + unit;

    for (int32_t row = 0; row < layer->rows; row++) {
        int8_t *results = output + row * layer->units + unit;

        if (units == TG_HUFFMAN_UNITS) {
            int32_t sums[TG_HUFFMAN_UNITS] = {bias[0], bias[1], bias[2], bias[3]};

            tg_add_4x1(weights, features, input, features, sums);
            for (int32_t i = 0; i < TG_HUFFMAN_UNITS; i++) {
                results[i] = output_of(layer, sums[i], unit + i);
            }
        } else {
            for (int32_t i = 0; i < units; i++) {
                results[i] = output_of(layer, tg_add_dot(bias[i], weights + i * features, input, features), unit + i);
            }
        }
        input += features;
    }
}

void tg_fully_connected_huffman_s8(
    const struct tg_huffman_fully_connected *layer, const int8_t *input, int8_t *output, int32_t *scratch)
{
    uint32_t *entries = (uint32_t *)scratch;
    int8_t *weights = (int8_t *)(scratch + ((size_t)1 << layer->bits));
    const struct alphabet alphabet = alphabet_of(layer);
    struct progress at = {0, 0};

    fill(&alphabet, layer->bits, entries);
    for (int32_t unit = 0; unit < layer->units; unit += TG_HUFFMAN_UNITS) {
        const int32_t left = layer->units - unit;
        const int32_t units = left < TG_HUFFMAN_UNITS ? left : TG_HUFFMAN_UNITS;
        const uint32_t count = (uint32_t)(units * layer->features);

        at = decode(entries, layer->bits, alphabet.stream, weights, at, count);
        multiply(layer, weights, unit, units, input, output);
        at.weights -= count;
        for (uint32_t i = 0; i < at.weights; i++) { /* of the next units */
            weights[i] = weights[count + i];
        }
    }
}
