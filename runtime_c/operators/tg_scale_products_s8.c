/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>

#include "tg_fixed_point.h"
#include "tg_partial_products.h"

void tg_scale_products_s8(const struct tg_scaling *scaling, const int32_t *sums, int32_t units, int8_t *output)
{
    for (int32_t unit = 0; unit < units; unit++) {
        const int32_t sum = sums[unit] + (scaling->bias != NULL ? scaling->bias[unit] : 0);
        const int32_t scaled = tg_scale(sum, scaling->multiplier[unit], scaling->shift[unit]);
        output[unit] = tg_stored_s8(scaled, scaling->zero_point, scaling->min, scaling->max);
    }
}
