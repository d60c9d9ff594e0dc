/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic of transforms of float32, which are not scaled.
 */
#define TG_NUMBER float
#define TG_DIVISOR(radix) 1.0f
#define TG_SCALED(number, factor) (number)
#define TG_TIMES(number, factor) ((number) * (factor))
#define TG_PRODUCT_SUM(a, b, c, d) ((a) * (b) + (c) * (d))
#define TG_PRODUCT_DIFFERENCE(a, b, c, d) ((a) * (b) - (c) * (d))
#define TG_ADD(first, second) ((first) + (second))
#define TG_SUBTRACT(first, second) ((first) - (second))
#define TG_HALF(number) ((number) * 0.5f)
#define TG_HALF_SUM(first, second) (((first) + (second)) * 0.5f)
#define TG_HALF_DIFFERENCE(first, second) (((first) - (second)) * 0.5f)
#define TG_NEGATED(number) (-(number))
