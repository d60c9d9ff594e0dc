/* Microseconds from the FPGA system control of Arm's MPS2 and MPS3 boards. */
#ifndef PORT_TIMER_H
#define PORT_TIMER_H

#include "mlperf_config.h"

#include <stdint.h>

#define FPGAIO_COUNTER (*(volatile uint32_t *)(TIMER_BASE + 0x18U))
#define FPGAIO_PRESCALE (*(volatile uint32_t *)(TIMER_BASE + 0x1CU))

static inline void timer_start(void)
{
    FPGAIO_PRESCALE = TIMER_CLOCK_HZ / 1000000U - 1U; /* the counter ticks once in PRESCALE + 1 clocks */
}

static inline uint32_t timer_microseconds(void)
{
    return FPGAIO_COUNTER;
}

#endif
