/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operators that only move elements, of any size. Input and output must not overlap, unless it says so.
 */
#ifndef TG_MOVEMENT_H
#define TG_MOVEMENT_H

#include <stdint.h>

#include "tg_operator_names.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TG_MAX_AXES 8

/** One axis of a strided copy; steps may be negative. */
struct tg_copy_axis {
    int32_t count;       /* at least 1 */
    int32_t input_step;  /* bytes from one element to the next */
    int32_t output_step; /* bytes from one element to the next */
};

/** A box of elements in the input, and the box in the output where they go. */
struct tg_strided_copy {
    int32_t input_offset;            /* bytes to the first element */
    int32_t output_offset;           /* bytes to the first element */
    int32_t element_bytes;           /* what is contiguous on both sides */
    int32_t axis_count;              /* at most TG_MAX_AXES */
    const struct tg_copy_axis *axes; /* outermost first */
};

/**
 * Move bytes to a higher address, where `target` may lie inside of what is moved: memmove for this direction. By words,
 * of any alignment; small C libraries do it byte by byte.
 */
void tg_move_up(void *target, const void *source, int32_t bytes);

/** Copy the elements of a box. */
void tg_strided_copy(const struct tg_strided_copy *copy, const void *input, void *output);

/** Matrices one behind the other, each of `rows` times `columns` elements, row by row. */
struct tg_matrices {
    int32_t count;
    int32_t rows;
    int32_t columns;
    int32_t element_bytes;
};

/**
 * Transpose each matrix where it lies: element [row][column] comes to where [column][row] of a matrix of `columns` rows
 * is. It follows the cycles of the permutation; the time to find where they begin grows a little faster than with rows
 * * columns, so many small matrices are better than few large ones.
 */
void tg_transpose_in_place(const struct tg_matrices *matrices, void *data);

/** An input seen as [batches, outer, axis_size, slice_bytes], and `index_count` indices for each batch. */
struct tg_gather {
    int32_t batches;
    int32_t outer;
    int32_t axis_size;
    int32_t index_count;
    int32_t slice_bytes;
};

/**
 * Copy the slices that the indices select: output [batches, outer, index_count, slice_bytes].
 * Returns 0, or 1 as soon as an index is not in [0, axis_size).
 */
int tg_gather(const struct tg_gather *gather, const void *input, const int32_t *indices, void *output);

/** Shape of an output, outermost axis first, and how far apart elements of each operand lie; 0 repeats them. */
struct tg_select {
    int32_t element_bytes; /* of first, second and output */
    int32_t sizes[4];
    int32_t condition_strides[4];
    int32_t first_strides[4];
    int32_t second_strides[4];
};

/** output = first where the condition is not 0, else second; the output may be an operand that is read once. */
void tg_select(
    const struct tg_select *select, const uint8_t *condition, const void *first, const void *second, void *output);

/** A part that takes the place of as many elements of a tensor. */
struct tg_update_slice {
    int32_t bytes;               /* of the whole tensor */
    int32_t has_wide_start;      /* whether the start is int64, not int32 */
    const int32_t *room;         /* the last start along each axis at which the part lies within */
    struct tg_strided_copy copy; /* of the part to the beginning of the tensor: every axis, none merged */
};

/**
 * output = input, but `update` from `start` on, which is limited to 0..room; the output may be the input's memory.
 */
void tg_update_slice(
    const struct tg_update_slice *layer, const void *input, const void *update, const void *start, void *output);

#ifdef __cplusplus
}
#endif

#endif
