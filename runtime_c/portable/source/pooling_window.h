/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_POOLING_WINDOW_H
#define TG_POOLING_WINDOW_H

#include <stdint.h>

/** Rows or columns begin .. end - 1. */
typedef struct
{
    int32_t begin;
    int32_t end;
} span_t;

/** The part of a window of `length` at `begin` that lies inside 0 .. size - 1. */
static inline span_t window_span(int32_t begin, int32_t length, int32_t size)
{
    const int32_t end = begin + length;
    const span_t span = {begin > 0 ? begin : 0, end < size ? end : size};
    return span;
}

#endif
