/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define NAME tg_resize_bilinear_s8
#define ELEMENT int8_t
#define TOTAL int32_t
#include "tg_resize_bilinear_body.h"
