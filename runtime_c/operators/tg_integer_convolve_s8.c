/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "tg_arithmetic_f32.h"
#include "tg_integer_sums.h"
#include "tg_partial_products.h"

static int is_matmul(const struct tg_window *window)
{
    return window->kernel_height * window->kernel_width * window->stride_height * window->stride_width == 1 &&
           window->top == 0 && window->left == 0 && window->groups == 1 &&
           window->output.height == window->input.height && window->output.width == window->input.width;
}

/** The input under the window, `depth` channels of each pixel; beside the image lies the zero point. */
static void gather(const struct tg_window *window, const int8_t *image, int32_t row, int32_t column, int32_t depth,
    int32_t zero_point, int8_t *patch)
{
    for (int32_t y = 0; y < window->kernel_height; y++) {
        const int32_t line = row + y * window->dilation_height;
        const int is_inside = line >= 0 && line < window->input.height;
        for (int32_t x = 0; x < window->kernel_width; x++) {
            const int32_t place = column + x * window->dilation_width;
            if (is_inside && place >= 0 && place < window->input.width) {
                const int32_t pixel = line * window->input.width + place;
                memcpy(patch, image + pixel * window->input.channels, (size_t)depth);
            } else {
                memset(patch, zero_point, (size_t)depth);
            }
            patch += depth;
        }
    }
}

/** Pixels of one image; two at a time are multiplied where there are no groups. */
static void convolve(const struct tg_window *window, const struct tg_integer_filters *filters, const int8_t *image,
    int32_t zero_point, int32_t *output, int8_t *scratch)
{
    const int32_t pixels = window->output.height * window->output.width;
    const int32_t units = filters->channels / window->groups;
    const int32_t depth = window->input.channels / window->groups;
    const int32_t at_once = window->groups == 1 ? 2 : 1;

    for (int32_t pixel = 0; pixel < pixels; pixel += at_once) {
        const int32_t count = pixels - pixel < at_once ? pixels - pixel : at_once;
        for (int32_t group = 0; group < window->groups; group++) {
            const int32_t first = group * units;
            const struct tg_channel_products products = {
                filters->weights + first * filters->elements, units, filters->elements, count};
            for (int32_t i = 0; i < count; i++) {
                const int32_t row = (pixel + i) / window->output.width * window->stride_height - window->top;
                const int32_t column = (pixel + i) % window->output.width * window->stride_width - window->left;
                int8_t *const patch = scratch + i * filters->elements;
                gather(window, image + group * depth, row, column, depth, zero_point, patch);
                tg_start_integer_sums(filters, first, units, patch, zero_point, output + first + i * units);
            }
            tg_add_channel_products_s8(&products, scratch, output + first);
        }
        output += count * filters->channels;
    }
}

void tg_integer_convolve_s8(const struct tg_window *window, const struct tg_integer_filters *filters,
    int32_t images_per_zero_point, const int8_t *input, const int8_t *zero_point, int32_t *output, int8_t *scratch)
{
    const int32_t pixels = window->output.height * window->output.width;
    const int32_t image = window->input.height * window->input.width * window->input.channels;

    if (is_matmul(window)) {
        tg_integer_matmul_s8(
            filters, window->batches * pixels, images_per_zero_point * pixels, input, zero_point, output);
        return;
    }
    for (int32_t batch = 0; batch < window->batches; batch++) {
        const int32_t own = zero_point[batch / images_per_zero_point];
        convolve(window, filters, input, own, output, scratch);
        input += image;
        output += pixels * filters->channels;
    }
}
