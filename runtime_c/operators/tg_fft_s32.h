/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic of transforms of int32, in 64 bits: Q31 twiddle factors, halves up, sums that wrap.
 */
#define TG_NUMBER int32_t
#define TG_DIVISOR(radix) (INT32_MAX / (radix))
#define TG_SCALED(number, factor) ((int32_t)(((int64_t)(number) * (factor) + (1 << 30)) >> 31))
#define TG_TIMES(number, factor) TG_SCALED(number, factor)
#define TG_PRODUCT_SUM(a, b, c, d) ((int32_t)(((int64_t)(a) * (b) + (int64_t)(c) * (d) + (1 << 30)) >> 31))
#define TG_PRODUCT_DIFFERENCE(a, b, c, d) ((int32_t)(((int64_t)(a) * (b) - (int64_t)(c) * (d) + (1 << 30)) >> 31))
#define TG_ADD(first, second) ((int32_t)((uint32_t)(first) + (uint32_t)(second)))
#define TG_SUBTRACT(first, second) ((int32_t)((uint32_t)(first) - (uint32_t)(second)))
#define TG_HALF(number) ((number) >> 1)
#define TG_HALF_SUM(first, second) (TG_ADD(first, second) >> 1)
#define TG_HALF_DIFFERENCE(first, second) (TG_SUBTRACT(first, second) >> 1)
#define TG_NEGATED(number) ((int32_t)(0U - (uint32_t)(number)))
