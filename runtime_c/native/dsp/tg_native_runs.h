/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Matrix product of runs of bytes, as they lie in a tensor, with groups of 8 channels: convolutions without columns.
 *
 * `stream` is that of tg_native_gemv.h, of filters in the order of their runs: one filter is one vector, which is read
 * in pieces. Each piece lies in the input, at an offset, or is padding.
 */
#ifndef TG_NATIVE_RUNS_H
#define TG_NATIVE_RUNS_H

#include "tg_native.h"
#include "tg_native_gemv.h"

#define TG_NATIVE_PADDING (-1) /* in place of an offset */

/** What lies under a filter. The assembly knows where the members are. */
struct tg_native_runs {
    const int8_t *input;    /**< where there is one run, that run */
    const int8_t *padding;  /**< a run of it, where some offset says so */
    const int32_t *offsets; /**< of each run in the input, in bytes; NULL where there is one */
    int32_t count;          /**< of runs, at least 1 */
    int32_t quads;          /**< of a run: bytes / 4, at least 1 */
};

/** `groups` at least 1. */
typedef void tg_native_multiply_runs(
    const int32_t *stream, const struct tg_native_runs *runs, int32_t groups, int8_t *output);

tg_native_multiply_runs tg_native_multiply_runs_s8;
tg_native_multiply_runs tg_native_multiply_runs_joined_s8;

/** All pixels. */
void tg_native_run_by_run(const struct tg_native_convolve_runs *layer, const int8_t *input, int8_t *output,
    void *scratch, tg_native_multiply_runs *multiply);

#endif
