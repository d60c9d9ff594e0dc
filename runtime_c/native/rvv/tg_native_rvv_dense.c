/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * 16-bit weights of some channels times an element of each pixel, which is a number in a register.
 */
#include "tg_native_rvv_assembly.h"

#if TG_NATIVE_RVV

/* assembly in columns */
/* clang-format off */

#define LOOP(step, past_4, past_1)                                                                                     \
    "beq    t3, s11, 3f              \n"                                                                               \
    "2:                              \n"                                                                               \
    step("0") step("1") step("2") step("3") past_4                                                                     \
    "bne    t3, s11, 2b              \n"                                                                               \
    "3:                              \n"                                                                               \
    "beq    t3, a2, 5f               \n"                                                                               \
    "4:                              \n"                                                                               \
    step("0") past_1                                                                                                   \
    "bne    t3, a2, 4b               \n"                                                                               \
    "5:                              \n"

/* a2 the end of the first window, s11 that of its elements by fours. */
#define ENDS                                                                                                           \
    "andi   s11, s3, -4              \n"                                                                               \
    "add    s11, a1, s11             \n"                                                                               \
    "add    a2, a1, s3               \n"

#define STEP_4(element)                                                                                                \
    "vle8.v v0, (t2)                 \n"                                                                               \
    "add    t2, t2, s2               \n"                                                                               \
    "lb     a7, " element "(t3)      \n"                                                                               \
    "lb     ra, " element "(t4)      \n"                                                                               \
    "vsext.vf2 v2, v0                \n"                                                                               \
    "vwmacc.vx v8, a7, v2            \n"                                                                               \
    "lb     a0, " element "(t5)      \n"                                                                               \
    "vwmacc.vx v12, ra, v2           \n"                                                                               \
    "lb     a7, " element "(t6)      \n"                                                                               \
    "vwmacc.vx v16, a0, v2           \n"                                                                               \
    "vwmacc.vx v20, a7, v2           \n"

#define PAST_4(count)                                                                                                  \
    "addi   t3, t3, " count "        \n"                                                                               \
    "addi   t4, t4, " count "        \n"                                                                               \
    "addi   t5, t5, " count "        \n"                                                                               \
    "addi   t6, t6, " count "        \n"

#define STEP_1(element)                                                                                                \
    "vle8.v v0, (t2)                 \n"                                                                               \
    "lb     a7, " element "(t3)      \n"                                                                               \
    "add    t2, t2, s2               \n"                                                                               \
    "vsext.vf2 v4, v0                \n"                                                                               \
    "vwmacc.vx v8, a7, v4            \n"

TG_NAKED void tg_native_rvv_dense_4(TG_RVV_ARGUMENTS)
{
    __asm__ volatile(TG_RVV_ENTER TG_RVV_WINDOWS_4 ENDS TG_RVV_FIRST_4 LOOP(STEP_4, PAST_4("4"), PAST_4("1"))
                     TG_RVV_LAST_4 TG_RVV_NEXT);
}

TG_NAKED void tg_native_rvv_dense_1(TG_RVV_ARGUMENTS)
{
    __asm__ volatile(TG_RVV_ENTER ENDS TG_RVV_FIRST_1 LOOP(STEP_1, "addi   t3, t3, 4\n", "addi   t3, t3, 1\n")
                     TG_RVV_LAST_1 TG_RVV_NEXT);
}

/* clang-format on */

#else

void tg_native_rvv_dense_1(TG_RVV_ARGUMENTS)
{
    (void)step;
    for (int32_t channel = 0; channel < filters->channels; channel++) {
        const int8_t *weight = filters->weights + channel;
        uint32_t sum = (uint32_t)filters->scales[channel];
        for (int32_t element = 0; element < filters->elements; element++, weight += filters->channels) {
            sum += (uint32_t)(windows[element] * *weight);
        }
        output[channel] = tg_rvv_output(filters, (int32_t)sum, filters->scales + channel);
    }
}

void tg_native_rvv_dense_4(TG_RVV_ARGUMENTS)
{
    for (int32_t pixel = 0; pixel < 4; pixel++) {
        tg_native_rvv_dense_1(filters, windows + pixel * step, step, output + pixel * filters->channels);
    }
}

#endif
