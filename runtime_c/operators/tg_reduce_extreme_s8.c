/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_reduce_extreme_s8
#define TG_ELEMENT int8_t
#include "tg_reduce_extreme_body.h"
