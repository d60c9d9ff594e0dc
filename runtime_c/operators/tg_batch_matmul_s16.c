/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define NAME tg_batch_matmul_s16
#define ELEMENT int16_t
#define SUM int64_t
#define RESULT tg_result_s16
#include "tg_batch_matmul_body.h"
