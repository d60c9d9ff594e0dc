/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_float.h"

#define ARG_MAX tg_arg_max_f32_s64
#define VALUE float
#define INDEX int64_t
#include "tg_arg_max_body.h"
