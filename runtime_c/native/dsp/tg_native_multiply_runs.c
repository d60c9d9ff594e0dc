/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of runs of bytes: by how weights are multiplied.
 */
#include "tg_native_multiply_runs_body.h"

/* file: tg_native_multiply_runs_s8.c */

TG_RUNS_FUNCTION(tg_native_multiply_runs_s8)

/* file: tg_native_multiply_runs_joined_s8.c */

TG_RUNS_JOINED_FUNCTION(tg_native_multiply_runs_joined_s8)
