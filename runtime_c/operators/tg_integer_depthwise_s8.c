/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "tg_arithmetic_f32.h"
#include "tg_integer.h"

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#include <arm_mve.h>
#define AT_ONCE 8
#elif defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED)
#define AT_ONCE 4
#else
#define AT_ONCE 1
#endif

/** The part of a window that lies in the image, as input and weights under its first tap. */
struct taps {
    const int8_t *input;
    const int8_t *weights;
    int32_t rows;
    int32_t columns;
    int32_t input_row; /* bytes from one row of taps to the next */
    int32_t input_column;
    int32_t weight_row;
    int32_t weight_column;
};

#if AT_ONCE == 8

/** 8 channels, or those that are left of them. */
static inline void add_channels(const struct taps *taps, const struct tg_integer_filters *filters, int has_zero_points,
    int32_t channel, int32_t zero_point, int32_t *output)
{
    const int32_t count = filters->channels - channel;
    const mve_pred16_t lanes = vctp16q((uint32_t)count);
    int16x8_t own = vdupq_n_s16(0);
    int32x4_t even = vdupq_n_s32(0);
    int32x4_t odd = even;

    if (has_zero_points) {
        const int8_t *const zero_points = filters->zero_points;
        own = filters->zero_point_step ? vldrbq_z_s16(zero_points + channel, lanes) : vdupq_n_s16(*zero_points);
    }
    for (int32_t y = 0; y < taps->rows; y++) {
        const int8_t *input = taps->input + y * taps->input_row + channel;
        const int8_t *weights = taps->weights + y * taps->weight_row + channel;
        for (int32_t x = 0; x < taps->columns; x++) {
            const int16x8_t value = vsubq_n_s16(vldrbq_z_s16(input, lanes), (int16_t)zero_point);
            int16x8_t weight = vldrbq_z_s16(weights, lanes);
            weight = has_zero_points ? vsubq_s16(weight, own) : weight;
            even = vaddq_s32(even, vmullbq_int_s16(value, weight));
            odd = vaddq_s32(odd, vmulltq_int_s16(value, weight));
            input += taps->input_column;
            weights += taps->weight_column;
        }
    }
    const uint32x4_t places = vidupq_n_u32(0, 2);
    vstrwq_scatter_shifted_offset_p_s32(
        output + channel, places, even, vcmpltq_n_s32(vreinterpretq_s32_u32(places), count));
    vstrwq_scatter_shifted_offset_p_s32(
        output + channel + 1, places, odd, vcmpltq_n_s32(vreinterpretq_s32_u32(places), count - 1));
}

static int32_t add_blocks(
    const struct taps *taps, const struct tg_integer_filters *filters, int32_t zero_point, int32_t *output)
{
    for (int32_t channel = 0; channel < filters->channels; channel += AT_ONCE) {
        if (filters->zero_points) {
            add_channels(taps, filters, 1, channel, zero_point, output);
        } else {
            add_channels(taps, filters, 0, channel, zero_point, output);
        }
    }
    return filters->channels;
}

#elif AT_ONCE == 4

/** Two numbers of 16 bits, the first one in the lower half. */
static inline uint32_t pair_of(int32_t low, int32_t high)
{
    return ((uint32_t)low & 0xffffu) | (uint32_t)high << 16;
}

/** `offset` plus bytes 0 and 2 as 16-bit numbers. */
static inline uint32_t even_bytes(uint32_t word, uint32_t offset)
{
    uint32_t numbers;
    __asm__("sxtab16 %0, %1, %2" : "=r"(numbers) : "r"(offset), "r"(word));
    return numbers;
}

/** `offset` plus bytes 1 and 3. */
static inline uint32_t odd_bytes(uint32_t word, uint32_t offset)
{
    uint32_t numbers;
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(numbers) : "r"(offset), "r"(word));
    return numbers;
}

static inline int32_t add_low(int32_t sum, uint32_t a, uint32_t b)
{
    __asm__("smlabb %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

static inline int32_t add_high(int32_t sum, uint32_t a, uint32_t b)
{
    __asm__("smlatt %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

static int32_t add_blocks(
    const struct taps *taps, const struct tg_integer_filters *filters, int32_t zero_point, int32_t *output)
{
    static const int8_t none = 0;
    const int8_t *own = filters->zero_points ? filters->zero_points : &none;
    const int32_t step = filters->zero_points ? filters->zero_point_step : 0;
    const uint32_t offset = pair_of(-zero_point, -zero_point);
    int32_t channel = 0;

    for (; channel + AT_ONCE <= filters->channels; channel += AT_ONCE) {
        const uint32_t even_offset = pair_of(-own[0], -own[2 * step]);
        const uint32_t odd_offset = pair_of(-own[step], -own[3 * step]);
        int32_t sums[4] = {0, 0, 0, 0};
        for (int32_t y = 0; y < taps->rows; y++) {
            const int8_t *input = taps->input + y * taps->input_row + channel;
            const int8_t *weights = taps->weights + y * taps->weight_row + channel;
            for (int32_t x = 0; x < taps->columns; x++) {
                uint32_t values;
                uint32_t factors;
                memcpy(&values, input, sizeof values); /* one load */
                memcpy(&factors, weights, sizeof factors);
                const uint32_t even = even_bytes(values, offset);
                const uint32_t odd = odd_bytes(values, offset);
                const uint32_t even_factors = even_bytes(factors, even_offset);
                const uint32_t odd_factors = odd_bytes(factors, odd_offset);
                sums[0] = add_low(sums[0], even, even_factors);
                sums[1] = add_low(sums[1], odd, odd_factors);
                sums[2] = add_high(sums[2], even, even_factors);
                sums[3] = add_high(sums[3], odd, odd_factors);
                input += taps->input_column;
                weights += taps->weight_column;
            }
        }
        memcpy(output + channel, sums, sizeof sums);
        own += AT_ONCE * step;
    }
    return channel;
}

#else

static int32_t add_blocks(
    const struct taps *taps, const struct tg_integer_filters *filters, int32_t zero_point, int32_t *output)
{
    (void)taps;
    (void)filters;
    (void)zero_point;
    (void)output;
    return 0;
}

#endif

static int32_t sum_of(
    const struct taps *taps, int32_t from, int32_t channel, int32_t zero_point, int32_t weight_zero_point)
{
    int32_t sum = 0;

    for (int32_t y = 0; y < taps->rows; y++) {
        const int8_t *input = taps->input + y * taps->input_row + from;
        const int8_t *weights = taps->weights + y * taps->weight_row + channel;
        for (int32_t x = 0; x < taps->columns; x++) {
            sum += (*input - zero_point) * (*weights - weight_zero_point);
            input += taps->input_column;
            weights += taps->weight_column;
        }
    }
    return sum;
}

/** All output channels of one pixel. */
static void convolve_pixel(const struct taps *taps, const struct tg_integer_filters *filters, int32_t multiplier,
    int32_t zero_point, int32_t *output)
{
    int32_t channel = 0;

    if (multiplier == 1) {
        channel = add_blocks(taps, filters, zero_point, output);
    }
    for (; channel < filters->channels; channel++) {
        const int32_t own = filters->zero_points ? filters->zero_points[channel * filters->zero_point_step] : 0;
        output[channel] = sum_of(taps, channel / multiplier, channel, zero_point, own);
    }
}

/** The taps of a window whose corner lies at this row and column, perhaps outside. */
static struct taps taps_at(const struct tg_window *window, const int8_t *image, const int8_t *weights, int32_t channels,
    int32_t row, int32_t column)
{
    const struct tg_taps rows =
        tg_taps_within(row, window->kernel_height, window->dilation_height, window->input.height);
    const struct tg_taps columns =
        tg_taps_within(column, window->kernel_width, window->dilation_width, window->input.width);
    const int32_t line = (row + rows.first * window->dilation_height) * window->input.width;
    const int32_t pixel = line + column + columns.first * window->dilation_width;
    const int is_inside = rows.end > rows.first && columns.end > columns.first;

    return (struct taps){
        .input = is_inside ? image + pixel * window->input.channels : image,
        .weights = weights + (rows.first * window->kernel_width + columns.first) * channels,
        .rows = is_inside ? rows.end - rows.first : 0,
        .columns = columns.end - columns.first,
        .input_row = window->dilation_height * window->input.width * window->input.channels,
        .input_column = window->dilation_width * window->input.channels,
        .weight_row = window->kernel_width * channels,
        .weight_column = channels,
    };
}

void tg_integer_depthwise_s8(const struct tg_window *window, const struct tg_integer_filters *filters,
    int32_t images_per_zero_point, const int8_t *input, const int8_t *zero_point, int32_t *output)
{
    const int32_t multiplier = filters->channels / window->input.channels;

    for (int32_t batch = 0; batch < window->batches; batch++) {
        const int32_t own = zero_point[batch / images_per_zero_point];
        for (int32_t y = 0; y < window->output.height; y++) {
            for (int32_t x = 0; x < window->output.width; x++) {
                const int32_t row = y * window->stride_height - window->top;
                const int32_t column = x * window->stride_width - window->left;
                const struct taps taps = taps_at(window, input, filters->weights, filters->channels, row, column);
                convolve_pixel(&taps, filters, multiplier, own, output);
                output += filters->channels;
            }
        }
        input += window->input.height * window->input.width * window->input.channels;
    }
}
