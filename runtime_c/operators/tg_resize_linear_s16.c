/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define NAME tg_resize_linear_s16
#define ELEMENT int16_t
#define SUM int64_t
#include "tg_resize_linear_body.h"
