/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define NAME tg_resize_bilinear_s16
#define ELEMENT int16_t
#define TOTAL int64_t
#include "tg_resize_bilinear_body.h"
