/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic of transforms of int16, in 32 bits: Q15 twiddle factors, halves up, sums that wrap.
 */
#define TG_NUMBER int16_t
#define TG_DIVISOR(radix) (INT16_MAX / (radix))
#define TG_SCALED(number, factor) ((int16_t)(((number) * (factor) + (1 << 14)) >> 15))
#define TG_TIMES(number, factor) TG_SCALED(number, factor)
#define TG_PRODUCT_SUM(a, b, c, d) ((int16_t)(((a) * (b) + (c) * (d) + (1 << 14)) >> 15))
#define TG_PRODUCT_DIFFERENCE(a, b, c, d) ((int16_t)(((a) * (b) - (c) * (d) + (1 << 14)) >> 15))
#define TG_ADD(first, second) ((int16_t)((first) + (second)))
#define TG_SUBTRACT(first, second) ((int16_t)((first) - (second)))
#define TG_HALF(number) ((int16_t)((number) >> 1))
#define TG_HALF_SUM(first, second) ((int16_t)(((first) + (second)) >> 1))
#define TG_HALF_DIFFERENCE(first, second) ((int16_t)(((first) - (second)) >> 1))
#define TG_NEGATED(number) ((int16_t)-(number))
