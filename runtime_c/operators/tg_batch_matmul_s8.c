/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define NAME tg_batch_matmul_s8
#define ELEMENT int8_t
#define SUM int32_t
#define RESULT tg_result_s8
#include "tg_batch_matmul_body.h"
