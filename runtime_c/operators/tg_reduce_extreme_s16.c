/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_reduce_extreme_s16
#define TG_ELEMENT int16_t
#include "tg_reduce_extreme_body.h"
