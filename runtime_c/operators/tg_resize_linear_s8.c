/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define NAME tg_resize_linear_s8
#define ELEMENT int8_t
#define SUM int32_t
#include "tg_resize_linear_body.h"
