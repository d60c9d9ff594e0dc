/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of two vectors with two units at a time, of a vector that is left with four units.
 */
#include "tg_dot_s8.h"
#include "tg_partial_products.h"

/* Two vectors with two units; the sums of the second vector lie `units` further. */
static void tg_add_2x2(const int8_t *weights, const int8_t *input, int32_t features, int32_t units, int32_t *sums)
{
    int32_t s00 = sums[0];
    int32_t s01 = sums[1];
    int32_t s10 = sums[units];
    int32_t s11 = sums[units + 1];
    int32_t left = features;

    /* two addresses and a distance take fewer registers than four addresses */
    for (; left >= TG_FEWEST; left -= TG_STEP) {
        const tg_elements a0 = tg_load(weights, left);
        const tg_elements a1 = tg_load(weights + features, left);
        const tg_elements b0 = tg_load(input, left);
        s00 = tg_multiply(s00, a0, b0);
        s01 = tg_multiply(s01, a1, b0);
        const tg_elements b1 = tg_load(input + features, left);
        s10 = tg_multiply(s10, a0, b1);
        s11 = tg_multiply(s11, a1, b1);
        weights += TG_STEP;
        input += TG_STEP;
    }
    for (; left > 0; left--) {
        s00 += weights[0] * input[0];
        s01 += weights[features] * input[0];
        s10 += weights[0] * input[features];
        s11 += weights[features] * input[features];
        weights++;
        input++;
    }
    sums[0] = s00;
    sums[1] = s01;
    sums[units] = s10;
    sums[units + 1] = s11;
}

void tg_add_channel_products_s8(const struct tg_channel_products *products, const int8_t *input, int32_t *sums)
{
    const int32_t units = products->units;
    const int32_t features = products->features;
    int32_t vector = 0;

    for (; vector + 2 <= products->vectors; vector += 2) {
        const int8_t *weights = products->weights;
        int32_t unit = 0;
        for (; unit + 2 <= units; unit += 2) {
            tg_add_2x2(weights, input, features, units, sums + unit);
            weights += 2 * features;
        }
        if (unit < units) {
            sums[unit] += tg_dot(weights, input, features);
            sums[units + unit] += tg_dot(weights, input + features, features);
        }
        input += 2 * features;
        sums += 2 * units;
    }
    if (vector < products->vectors) {
        const int8_t *weights = products->weights;
        int32_t unit = 0;
        for (; unit + 4 <= units; unit += 4) {
            tg_add_4x1(weights, features, input, features, sums + unit);
            weights += 4 * features;
        }
        for (; unit < units; unit++) {
            sums[unit] += tg_dot(weights, input, features);
            weights += features;
        }
    }
}
