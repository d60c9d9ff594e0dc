/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define NAME tg_standardize_s16
#define ELEMENT int16_t
#define LIMITS INT16_MIN, INT16_MAX
#include "tg_standardize_body.h"
