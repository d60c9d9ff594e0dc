/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Of K products of signs, those of equal bits are 1 and the others -1: their sum is K - 2 * (number of others).
 */
#include "tg_fixed_point.h"
#include "tg_signs.h"

#include <stddef.h>

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

#include <arm_mve.h>

/** The sum and the number of bits that are set: of each byte at a time. */
static inline uint32_t add_bits(uint32_t sum, uint32x4_t words)
{
    const uint8x16_t bits = vreinterpretq_u8_u32(words);
    const uint8x16_t pairs = vsubq_u8(bits, vandq_u8(vshrq_n_u8(bits, 1), vdupq_n_u8(0x55)));
    const uint8x16_t low = vandq_u8(pairs, vdupq_n_u8(0x33));
    const uint8x16_t nibbles = vaddq_u8(low, vandq_u8(vshrq_n_u8(pairs, 2), vdupq_n_u8(0x33)));

    return vaddvaq_u8(sum, vandq_u8(vaddq_u8(nibbles, vshrq_n_u8(nibbles, 4)), vdupq_n_u8(0x0F)));
}

/** How many signs of two rows of words differ. */
static int32_t differing(const uint32_t *first, const uint32_t *second, int32_t words)
{
    uint32_t sum = 0;

    for (; words >= 4; words -= 4) {
        sum = add_bits(sum, veorq_u32(vldrwq_u32(first), vldrwq_u32(second)));
        first += 4;
        second += 4;
    }
    if (words > 0) {
        const mve_pred16_t tail = vctp32q((uint32_t)words);

        sum = add_bits(sum, veorq_u32(vldrwq_z_u32(first, tail), vldrwq_z_u32(second, tail)));
    }
    return (int32_t)sum;
}

#else

/** Every second bit, every second pair of bits, every second four bits. */
struct masks {
    uint32_t bits;
    uint32_t pairs;
    uint32_t nibbles;
};

/** For each four bits the number of those that are set: Armv6-M to Armv8.1-M have no instruction that counts them. */
static inline uint32_t count_in_nibbles(uint32_t bits, const struct masks *masks)
{
    const uint32_t pairs = bits - ((bits >> 1) & masks->bits);

    return (pairs & masks->pairs) + ((pairs >> 2) & masks->pairs);
}

/** The sum of all counts in nibbles, of which each is at most 15. */
static inline int32_t sum_of_nibbles(uint32_t nibbles, const struct masks *masks)
{
    const uint32_t bytes = (nibbles & masks->nibbles) + ((nibbles >> 4) & masks->nibbles);

    return (int32_t)((bytes * 0x01010101U) >> 24);
}

/**
 * How many signs of two rows of words differ. Three words are added bit by bit to sums and carries, so that two words
 * are counted instead; a count of four bits and twice another one fit in a nibble.
 */
static int32_t differing(const uint32_t *first, const uint32_t *second, int32_t words)
{
    struct masks masks = {0x55555555U, 0x33333333U, 0x0F0F0F0FU};
    int32_t sum = 0;

    /* In registers: the instruction that takes a mask shifts its other operand then, not where the mask is a constant.
     */
    __asm__("" : "+r"(masks.bits), "+r"(masks.pairs), "+r"(masks.nibbles));
    for (; words >= 3; words -= 3) {
        const uint32_t a = first[0] ^ second[0];
        const uint32_t b = first[1] ^ second[1];
        const uint32_t c = first[2] ^ second[2];
        const uint32_t one = a ^ b;
        const uint32_t carry = (a & b) | (one & c);

        sum += sum_of_nibbles(count_in_nibbles(one ^ c, &masks) + 2U * count_in_nibbles(carry, &masks), &masks);
        first += 3;
        second += 3;
    }
    for (; words > 0; words--) {
        sum += sum_of_nibbles(count_in_nibbles(*first++ ^ *second++, &masks), &masks);
    }
    return sum;
}

#endif

/** Taps of a window within the input: rows and columns of the filter from the first to before the end. */
struct inside {
    int32_t first_row;
    int32_t end_row;
    int32_t first_column;
    int32_t end_column;
};

/** The first of `taps` places from `start` on, `step` apart, that is not negative; `taps` where all are. */
static int32_t first_inside(int32_t start, int32_t step, int32_t taps)
{
    int32_t tap = 0;

    while (tap < taps && start + tap * step < 0) {
        tap++;
    }
    return tap;
}

/** One behind the last of `taps` places from `start` on, `step` apart, that is below `size`. */
static int32_t end_inside(int32_t start, int32_t step, int32_t taps, int32_t size)
{
    while (taps > 0 && start + (taps - 1) * step >= size) {
        taps--;
    }
    return taps;
}

/** The pixels of a window, -1 for what lies outside of the input. */
static void gather(const struct tg_sign_convolution *layer, const uint32_t *image, int32_t top, int32_t left,
    const struct inside *inside, uint32_t *window)
{
    for (int32_t i = 0; i < layer->filter_height; i++) {
        const uint32_t *row = image + (top + i * layer->dilation_height) * layer->input_width * layer->words;
        const int32_t has_row = i >= inside->first_row && i < inside->end_row;

        for (int32_t j = 0; j < layer->filter_width; j++) {
            const int32_t column = left + j * layer->dilation_width;
            const int32_t has_pixel = has_row && j >= inside->first_column && j < inside->end_column;

            for (int32_t k = 0; k < layer->words; k++) {
                *window++ = has_pixel ? row[column * layer->words + k] : 0U;
            }
        }
    }
}

/** How many signs of a window and a filter differ, of the taps within the input alone. */
static int32_t differing_inside(const struct tg_sign_convolution *layer, const uint32_t *window, const uint32_t *filter,
    const struct inside *inside)
{
    const int32_t words = (inside->end_column - inside->first_column) * layer->words;
    int32_t sum = 0;

    for (int32_t i = inside->first_row; i < inside->end_row; i++) {
        const int32_t first = (i * layer->filter_width + inside->first_column) * layer->words;

        sum += differing(window + first, filter + first, words);
    }
    return sum;
}

/** All output channels of one pixel. */
static void convolve_pixel(const struct tg_sign_convolution *layer, const uint32_t *image, int32_t top, int32_t left,
    int8_t *output, uint32_t *window)
{
    const int32_t all = layer->filter_height * layer->filter_width;
    const struct inside inside = {
        first_inside(top, layer->dilation_height, layer->filter_height),
        end_inside(top, layer->dilation_height, layer->filter_height, layer->input_height),
        first_inside(left, layer->dilation_width, layer->filter_width),
        end_inside(left, layer->dilation_width, layer->filter_width, layer->input_width),
    };
    const int32_t rows = inside.end_row - inside.first_row;
    const int32_t columns = inside.end_column - inside.first_column;
    const int32_t within = rows > 0 && columns > 0 ? rows * columns : 0;
    const int32_t is_whole = layer->counts_padding || within == all;
    const int32_t products = (is_whole ? all : within) * layer->depth;
    const uint32_t *filter = layer->weights;

    gather(layer, image, top, left, &inside, window);
    for (int32_t channel = 0; channel < layer->output_channels; channel++) {
        const int32_t others =
            is_whole ? differing(window, filter, all * layer->words) : differing_inside(layer, window, filter, &inside);
        const int32_t bias = layer->bias == NULL ? 0 : layer->bias[channel];
        const int32_t sum = tg_scale(products - 2 * others + bias, layer->multiplier[channel], layer->shift[channel]);

        output[channel] = tg_stored_s8(sum, layer->output_zero_point, layer->min, layer->max);
        filter += all * layer->words;
    }
}

void tg_convolve_signs_s8(
    const struct tg_sign_convolution *layer, const uint32_t *input, int8_t *output, uint32_t *scratch)
{
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        for (int32_t y = 0; y < layer->output_height; y++) {
            for (int32_t x = 0; x < layer->output_width; x++) {
                const int32_t top = y * layer->stride_height - layer->pad_top;
                const int32_t left = x * layer->stride_width - layer->pad_left;

                convolve_pixel(layer, input, top, left, output, scratch);
                output += layer->output_channels;
            }
        }
        input += layer->input_height * layer->input_width * layer->words;
    }
}
