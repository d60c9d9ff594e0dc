/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * tower: made by tinygen VERSION from tower.tflite for mps2-an386 (cortex-m4, dsp), solver builtin. Do not edit.
 */
#ifndef TOWER_H
#define TOWER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory that tower_init takes: activations, scratch and state, in bytes. */
#define TOWER_ARENA_BYTES 132
#define TOWER_ARENA_ALIGN 4

#define TOWER_INPUT_COUNT 1
#define TOWER_OUTPUT_COUNT 1

/* Input 0: 'image', int8_t[1x16x4x1]. */
#define TOWER_INPUT0_BYTES 64
#define TOWER_INPUT0_ELEMENTS 64
#define TOWER_INPUT0_RANK 4
#define TOWER_INPUT0_SHAPE {1, 16, 4, 1}
#define TOWER_INPUT0_SCALE 6.25e-02f
#define TOWER_INPUT0_ZERO_POINT (-8)

/* Output 0: 'mean', int8_t[1x1x1x4]. */
#define TOWER_OUTPUT0_BYTES 4
#define TOWER_OUTPUT0_ELEMENTS 4
#define TOWER_OUTPUT0_RANK 4
#define TOWER_OUTPUT0_SHAPE {1, 1, 1, 4}
#define TOWER_OUTPUT0_SCALE 6.25e-02f
#define TOWER_OUTPUT0_ZERO_POINT (-128)

/* One instance of the network. Several may live side by side, each with its own arena. */
typedef struct {
    int8_t *arena;
} tower_context;

/*
 * Give the instance its memory: TOWER_ARENA_BYTES bytes, aligned to TOWER_ARENA_ALIGN.
 * Returns 0, or -1 where `arena` is NULL or not aligned.
 */
int tower_init(tower_context *context, void *arena);

/*
 * Where input `index` is to be written before each inference, or NULL where there is no such input.
 * tower_invoke overwrites it: write all inputs again before the next call.
 */
int8_t *tower_input(const tower_context *context, int index);

/*
 * What tower_invoke returns.
 *
 * The number of the operator that failed is its place in the model's file, from 1. Of operators that were fused it is
 * that of the one whose result is written; several that one was made of share it.
 */
enum tower_status {
    TOWER_OK = 0,
    TOWER_CONV_2D_1 = 1, /* CONV_2D 'first' */
    TOWER_CONV_2D_2 = 2, /* CONV_2D 'second' */
    TOWER_AVERAGE_POOL_2D_3 = 3, /* AVERAGE_POOL_2D 'mean' */
};

/* Run the network. Returns a value of enum tower_status: 0, or what failed. */
int tower_invoke(tower_context *context);

/*
 * Where output `index` lies after tower_invoke, or NULL where there is no such output.
 * It stays valid until an input is written or tower_invoke is called again.
 */
const int8_t *tower_output(const tower_context *context, int index);

/*
 * One inference on a static arena of its own, from and to the caller's buffers; not reentrant.
 * Returns what tower_invoke returns.
 */
int tower_run(const int8_t *input0, int8_t *output0);

/*
 * Runs one inference on the input in tower_selftest.c, and compares its outputs with what tinygen expects:
 * by tower_run.
 * Returns 0, TOWER_SELFTEST_DIFFERS, or what tower_invoke returns where that fails.
 */
#define TOWER_SELFTEST_DIFFERS (-3)
int tower_selftest(void);

#ifdef __cplusplus
}
#endif

#endif
