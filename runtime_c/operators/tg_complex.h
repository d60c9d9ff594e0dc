/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_COMPLEX_H
#define TG_COMPLEX_H

#include <stdint.h>

/** A point of a Fourier transform, or a power: its lower half, its upper half. */
struct tg_complex {
    int32_t re;
    int32_t im;
};

#endif
