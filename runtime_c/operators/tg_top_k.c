/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Indices of the largest, or smallest, values along an axis, each put where it belongs among those that were found.
 */
#include "tg_element.h"

/**
 * Indices of one line: of elements `from + n * inner`, at places `to + n * inner` of the output. `comes_before` says
 * whether an element comes before another one, which stands in front of it.
 */
static void choose(const struct tg_top_k *layer,
    int32_t (*comes_before)(const struct tg_top_k *layer, const void *elements, int32_t first, int32_t second),
    const void *input, int32_t from, void *output, int32_t to)
{
    const int32_t step = layer->inner;

    for (int32_t n = 0; n < layer->size; n++) {
        int32_t at = n < layer->count ? n : layer->count;
        while (at > 0) {
            const int64_t other = tg_loaded(layer->index, output, to + (at - 1) * step);
            if (!comes_before(layer, input, from + n * step, from + (int32_t)other * step)) {
                break;
            }
            if (at < layer->count) {
                tg_store(layer->index, output, to + at * step, other);
            }
            at--;
        }
        if (at < layer->count) {
            tg_store(layer->index, output, to + at * step, n);
        }
    }
}

static void choose_all(const struct tg_top_k *layer,
    int32_t (*comes_before)(const struct tg_top_k *layer, const void *elements, int32_t first, int32_t second),
    const void *input, void *output)
{
    for (int32_t o = 0; o < layer->outer; o++) {
        for (int32_t i = 0; i < layer->inner; i++) {
            const int32_t from = o * layer->size * layer->inner + i;
            choose(layer, comes_before, input, from, output, o * layer->count * layer->inner + i);
        }
    }
}

/* file: tg_top_k_integers.c */

static int32_t precedes_integer(const struct tg_top_k *layer, const void *elements, int32_t first, int32_t second)
{
    const int64_t own = tg_loaded(layer->type, elements, first);
    const int64_t other = tg_loaded(layer->type, elements, second);

    return layer->is_largest ? own > other : own < other;
}

void tg_top_k_integers(const struct tg_top_k *layer, const void *input, void *output)
{
    choose_all(layer, precedes_integer, input, output);
}

/* file: tg_top_k_f32.c */

static int32_t precedes_number(const struct tg_top_k *layer, const void *elements, int32_t first, int32_t second)
{
    const float own = ((const float *)elements)[first];
    const float other = ((const float *)elements)[second];

    if (own != own || other != other) {
        return own == own;
    }
    return layer->is_largest ? own > other : own < other;
}

void tg_top_k_f32(const struct tg_top_k *layer, const float *input, void *output)
{
    choose_all(layer, precedes_number, input, output);
}
