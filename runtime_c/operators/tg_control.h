/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Branches and loops: parts of a network that run as values say. Each part has memory of its own in `arena`, into which
 * its inputs are copied and from which its outputs are.
 */
#ifndef TG_CONTROL_H
#define TG_CONTROL_H

#include <stdint.h>

#include "tg_operator_names.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A value on its way between an operator and a part of the network. */
struct tg_passed {
    int32_t value;  /* of the operator's, which one */
    int32_t offset; /* in the part's memory, in bytes */
    int32_t bytes;
};

/** A part of a network. */
struct tg_part {
    int (*run)(int8_t *arena); /* returns 0, or another value where an operator has failed */
    int32_t input_count;
    int32_t output_count;
    const struct tg_passed *inputs;
    const struct tg_passed *outputs;
};

/** One of two parts. */
struct tg_branch {
    struct tg_part when_true;
    struct tg_part when_false;
};

/** A part again and again, while another one gives true. */
struct tg_loop {
    struct tg_part condition; /* its output is one byte */
    struct tg_part body;      /* its outputs are the next values of all variables, in order */
    int32_t most_turns;
    int32_t variable_count;
    const int32_t *variable_bytes;
};

/**
 * Run one of both parts. The first of `inputs` is the condition, one byte; values of parts are counted from the next
 * one on. Returns 0, or what the part has returned.
 */
int tg_branch(const struct tg_branch *branch, const void *const *inputs, void *const *outputs, int8_t *arena);

/**
 * Run the body until the condition is false. `inputs` are what the variables begin with, then values that stay as they
 * are; `outputs` hold the variables. Returns 0, what a part has returned, or -1 instead of a turn more than
 * `most_turns`.
 */
int tg_loop(const struct tg_loop *loop, const void *const *inputs, void *const *outputs, int8_t *arena);

#ifdef __cplusplus
}
#endif

#endif
