/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_FUNCTION tg_svdf_s8
#define TG_STATE int8_t
#define TG_STATE_MIN INT8_MIN
#define TG_STATE_MAX INT8_MAX
#include "tg_svdf_body.h"
