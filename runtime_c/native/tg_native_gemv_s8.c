/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_gemv_body.h"

TG_GEMV_FUNCTION(tg_native_gemv_s8)
