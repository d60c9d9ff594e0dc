/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of one vector of TG_VALUE with four of int8, for the tg_elements, tg_load(), tg_load_values() and
 * tg_multiply() of whoever includes it.
 */

/** Adds the products of one vector with four others, which begin `stride` elements apart, to four sums. */
static inline void tg_add_4x1(
    const int8_t *weights, int32_t stride, const TG_VALUE *input, int32_t features, int32_t *sums)
{
    int32_t s0 = sums[0];
    int32_t s1 = sums[1];
    int32_t s2 = sums[2];
    int32_t s3 = sums[3];
    int32_t left = features;

    for (; left >= TG_FEWEST; left -= TG_STEP) { /* one pointer for all weights: there are few registers */
        const tg_elements b = tg_load_values(input, left);

        s0 = tg_multiply(s0, tg_load(weights, left), b);
        s1 = tg_multiply(s1, tg_load(weights + stride, left), b);
        s2 = tg_multiply(s2, tg_load(weights + 2 * stride, left), b);
        s3 = tg_multiply(s3, tg_load(weights + 3 * stride, left), b);
        weights += TG_STEP;
        input += TG_STEP;
    }
    for (; left > 0; left--) {
        s0 = tg_plus_product(s0, weights[0], *input);
        s1 = tg_plus_product(s1, weights[stride], *input);
        s2 = tg_plus_product(s2, weights[2 * stride], *input);
        s3 = tg_plus_product(s3, weights[3 * stride], *input++);
        weights++;
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}
