/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operators on numbers of several element types: comparisons, casts, arithmetic on integers without scales, sums of all
 * elements up to each one, the largest and the smallest. Truth values are 0 and 1. The output may be the memory of an
 * operand of the same size and element size.
 */
#ifndef TG_NUMBERS_H
#define TG_NUMBERS_H

#include <stdint.h>

#include "tg_elementwise.h"
#include "tg_operator_names.h"

/** How one number lies to another; what a comparison accepts is the sum of some. */
enum {
    TG_LESS = 1,
    TG_EQUAL = 2,
    TG_GREATER = 4,
    TG_UNORDERED = 8, /**< one of them is NaN */
};

/** output = whether first lies to second in one of the orders of `accepts`. */
void tg_compare_u8(
    const struct tg_broadcast *shape, int32_t accepts, const uint8_t *first, const uint8_t *second, uint8_t *output);

/** The same of int8 without scales. */
void tg_compare_s8(
    const struct tg_broadcast *shape, int32_t accepts, const int8_t *first, const int8_t *second, uint8_t *output);

/** The same of int16 without scales. */
void tg_compare_s16(
    const struct tg_broadcast *shape, int32_t accepts, const int16_t *first, const int16_t *second, uint8_t *output);

/** The same of int32. */
void tg_compare_s32(
    const struct tg_broadcast *shape, int32_t accepts, const int32_t *first, const int32_t *second, uint8_t *output);

/** The same of int64. */
void tg_compare_s64(
    const struct tg_broadcast *shape, int32_t accepts, const int64_t *first, const int64_t *second, uint8_t *output);

/** The same of float32. */
void tg_compare_f32(
    const struct tg_broadcast *shape, int32_t accepts, const float *first, const float *second, uint8_t *output);

/** A comparison of quantized numbers: (stored + offset) << left_shift, requantized, of each operand. */
struct tg_scaled_comparison {
    int32_t accepts;
    int32_t left_shift;
    int32_t first_offset; /**< minus the operand's zero point */
    int32_t first_multiplier;
    int32_t first_shift;
    int32_t second_offset;
    int32_t second_multiplier;
    int32_t second_shift;
};

/** output = whether first lies to second in one of the accepted orders. */
void tg_compare_scaled_s8(const struct tg_broadcast *shape, const struct tg_scaled_comparison *params,
    const int8_t *first, const int8_t *second, uint8_t *output);

/** The same of int16. */
void tg_compare_scaled_s16(const struct tg_broadcast *shape, const struct tg_scaled_comparison *params,
    const int16_t *first, const int16_t *second, uint8_t *output);

/** Element types of integers. */
enum tg_element {
    TG_BOOL, /**< 0 or 1 */
    TG_S8,
    TG_U8,
    TG_S16,
    TG_S32,
    TG_S64,
    TG_U32,
};

/** Integers as integers of another type: those that do not fit wrap; all but 0 is true. */
void tg_cast_integers(enum tg_element from, enum tg_element to, const void *input, void *output, int32_t size);

/** Integers as float32. */
void tg_cast_integers_f32(enum tg_element from, const void *input, float *output, int32_t size);

/** float32 as integers: cut off, saturated, NaN as 0; all but 0 is true. */
void tg_cast_f32_integers(enum tg_element to, const float *input, void *output, int32_t size);

/** A tensor seen as [outer, size, inner], of which [outer, count, inner] are chosen along the middle axis. */
struct tg_top_k {
    int32_t outer;
    int32_t size;
    int32_t inner;
    int32_t count;
    int32_t is_largest;    /**< else the smallest */
    enum tg_element type;  /**< of the input, where it has integers */
    enum tg_element index; /**< type of the output */
};

/** Indices along the axis of the largest or smallest integers, in order; of equal ones the first comes first. */
void tg_top_k_integers(const struct tg_top_k *layer, const void *input, void *output);

/** The same of float32; what is no number comes last. */
void tg_top_k_f32(const struct tg_top_k *layer, const float *input, void *output);

/** What is computed of two integers: what does not fit wraps, a division by 0 gives 0. */
enum tg_integer_function {
    TG_INTEGER_ADD,
    TG_INTEGER_SUB,
    TG_INTEGER_MUL,
    TG_INTEGER_DIV, /**< cut off */
    TG_INTEGER_FLOOR_DIV,
    TG_INTEGER_FLOOR_MOD,
    TG_INTEGER_MAXIMUM,
    TG_INTEGER_MINIMUM,
    TG_INTEGER_SQUARED_DIFFERENCE,
    TG_INTEGER_BIT_AND,
    TG_INTEGER_BIT_OR,
    TG_INTEGER_BIT_XOR,
    TG_INTEGER_SHIFT_RIGHT, /**< keeps the sign; by 0 at least, and at most by all bits but one */
};

/** A function, and to what its result is limited. */
struct tg_integer_arithmetic {
    enum tg_integer_function function;
    int64_t min;
    int64_t max;
};

/** output = function(first, second). */
void tg_integer_arithmetic_s32(const struct tg_broadcast *shape, const struct tg_integer_arithmetic *params,
    const int32_t *first, const int32_t *second, int32_t *output);

/** The same of int64. */
void tg_integer_arithmetic_s64(const struct tg_broadcast *shape, const struct tg_integer_arithmetic *params,
    const int64_t *first, const int64_t *second, int64_t *output);

/** A tensor seen as [outer, size, inner], with sums along the middle axis. */
struct tg_cumulative_sum {
    int32_t outer;
    int32_t size;
    int32_t inner;
    int32_t is_exclusive; /**< sums without the element itself */
    int32_t is_reverse;   /**< from the end */
};

/** Requantization of sums of stored values. */
struct tg_cumulative_scaling {
    int32_t start;      /**< of sums */
    int32_t offset;     /**< added with each element: minus the input's zero point */
    int32_t left_shift; /**< of sums in 32 bits, which wrap */
    int32_t multiplier;
    int32_t shift;
    int32_t output_offset;
};

/** Sums of int8, requantized. */
void tg_cumulative_sum_s8(const struct tg_cumulative_sum *sums, const struct tg_cumulative_scaling *scaling,
    const int8_t *input, int8_t *output);

/** Sums of int32 without scales, which wrap. */
void tg_cumulative_sum_s32(const struct tg_cumulative_sum *sums, const int32_t *input, int32_t *output);

/** Sums of int64. */
void tg_cumulative_sum_s64(const struct tg_cumulative_sum *sums, const int64_t *input, int64_t *output);

/** Sums of float32. */
void tg_cumulative_sum_f32(const struct tg_cumulative_sum *sums, const float *input, float *output);

#endif
