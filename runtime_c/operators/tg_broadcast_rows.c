/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_broadcast_rows.h"

#define TG_FUNCTION tg_broadcast_rows
#define TG_ROW_FUNCTION tg_row_function
#define TG_ROW tg_row
#define TG_ELEMENT int8_t
#include "tg_broadcast_rows_body.h"
