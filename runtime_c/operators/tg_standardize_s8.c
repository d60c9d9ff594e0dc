/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define NAME tg_standardize_s8
#define ELEMENT int8_t
#define LIMITS INT8_MIN, INT8_MAX
#include "tg_standardize_body.h"
