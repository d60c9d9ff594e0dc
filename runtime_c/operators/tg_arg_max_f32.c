/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_float.h"

#define ARG_MAX tg_arg_max_f32
#define VALUE float
#define INDEX int32_t
#include "tg_arg_max_body.h"
