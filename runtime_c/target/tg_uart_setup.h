/*
 * What a UART needs before it starts, such as its clock and its pins: UART_SETUP lists words of registers, each as
 * {address, bits that are cleared, bits that are set}. Without it nothing is needed.
 */
#ifndef TG_UART_SETUP_H
#define TG_UART_SETUP_H

#include <stdint.h>

static inline void uart_setup(void)
{
#ifdef UART_SETUP
    static const uint32_t steps[][3] = UART_SETUP;

    for (uint32_t i = 0; i < sizeof steps / sizeof steps[0]; ++i) {
        volatile uint32_t *const word = (volatile uint32_t *)(uintptr_t)steps[i][0];

        *word = (*word & ~steps[i][1]) | steps[i][2];
    }
#endif
}

#endif
