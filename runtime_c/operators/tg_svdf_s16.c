/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_svdf_s16
#define TG_STATE int16_t
#define TG_STATE_MIN INT16_MIN
#define TG_STATE_MAX INT16_MAX
#define TG_WIDE
#include "tg_svdf_body.h"
