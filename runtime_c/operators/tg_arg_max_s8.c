/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_reduction.h"

#define ARG_MAX tg_arg_max_s8
#define VALUE int8_t
#define INDEX int32_t
#include "tg_arg_max_body.h"
