/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_squeezed.h"
#include "tg_squeezed_body.h"

#include <string.h>

#define TG_BLOCK 32
#define TG_WIDTHS 8 /* in a word */

TG_SQUEEZED_FUNCTION(multiply_1, 1)
TG_SQUEEZED_FUNCTION(multiply_2, 2)
TG_SQUEEZED_FUNCTION(multiply_3, 3)
TG_SQUEEZED_FUNCTION(multiply_4, 4)
TG_SQUEEZED_FUNCTION(multiply_5, 5)
TG_SQUEEZED_FUNCTION(multiply_6, 6)
TG_SQUEEZED_FUNCTION(multiply_7, 7)
TG_SQUEEZED_FUNCTION(multiply_8, 8)

/* Where a vector has come to in the table. */
struct position {
    const int32_t *words;
    uint32_t widths; /* of the next blocks */
    int32_t left;    /* how many of these */
};

/* The width of the next block. */
static inline uint32_t next_width(struct position *at)
{
    uint32_t width;

    if (at->left == 0) {
        at->widths = (uint32_t)*at->words++;
        at->left = TG_WIDTHS;
    }
    width = at->widths & 15U;
    at->widths >>= 4;
    at->left--;
    return width;
}

/* 32 elements times a block of that width. */
static inline int32_t multiply(uint32_t width, const int32_t *words, const int8_t *input)
{
    switch (width) {
    case 0:
        return 0;
    case 1:
        return multiply_1(words, input);
    case 2:
        return multiply_2(words, input);
    case 3:
        return multiply_3(words, input);
    case 4:
        return multiply_4(words, input);
    case 5:
        return multiply_5(words, input);
    case 6:
        return multiply_6(words, input);
    case 7:
        return multiply_7(words, input);
    default:
        return multiply_8(words, input);
    }
}

/* One vector; `last` is what no whole block has of it, in a block. */
static void multiply_vector(
    const struct tg_squeezed_fully_connected *layer, const int8_t *input, const int8_t *last, int8_t *output)
{
    const int32_t whole = layer->features / TG_BLOCK;
    const int32_t rest = layer->features % TG_BLOCK;
    const uint32_t rest_pairs = 2U * ((uint32_t)(rest + 3) / 4U);
    struct position at = {layer->words, 0, 0};

    for (int32_t unit = 0; unit < layer->units; unit++) {
        const int32_t scale = layer->scales == 1 ? 0 : unit;
        uint32_t sum = (uint32_t)layer->bias[unit];

        for (int32_t block = 0; block <= whole; block++) {
            const int is_last = block == whole;
            if (!is_last || rest != 0) {
                const uint32_t width = next_width(&at);
                sum += (uint32_t)multiply(width, at.words, is_last ? last : input + block * TG_BLOCK);
                at.words += is_last ? (rest_pairs * width + 15U) / 16U : width;
            }
        }
        output[unit] = tg_stored_s8(tg_scale((int32_t)sum, layer->multiplier[scale], layer->shift[scale]),
            layer->output_zero_point, layer->min, layer->max);
    }
}

void tg_fully_connected_squeezed_s8(
    const struct tg_squeezed_fully_connected *layer, const int8_t *input, int8_t *output)
{
    const int32_t rest = layer->features % TG_BLOCK;

    for (int32_t row = 0; row < layer->rows; row++) {
        int8_t last[TG_BLOCK] = {0};

        memcpy(last, input + layer->features - rest, (size_t)rest);
        multiply_vector(layer, input, last, output);
        input += layer->features;
        output += layer->units;
    }
}
