/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_rows_s16.h"

#define TG_FUNCTION tg_broadcast_rows_s16
#define TG_ROW_FUNCTION tg_row_function_s16
#define TG_ROW tg_row_s16
#define TG_ELEMENT int16_t
#include "tg_broadcast_rows_body.h"
