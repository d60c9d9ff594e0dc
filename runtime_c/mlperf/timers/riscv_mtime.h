/* Microseconds from the machine timer of RISC-V, at the address that the core-local interruptor has it. */
#ifndef PORT_TIMER_H
#define PORT_TIMER_H

#include "mlperf_config.h"

#include <stdint.h>

#define MTIME_LOW (*(volatile uint32_t *)(TIMER_BASE + 0xBFF8U))
#define MTIME_HIGH (*(volatile uint32_t *)(TIMER_BASE + 0xBFFCU))

static inline void timer_start(void)
{
    /* It runs from reset on. */
}

static inline uint32_t timer_microseconds(void)
{
    uint32_t high = MTIME_HIGH;
    uint32_t low = MTIME_LOW;
    uint32_t again = MTIME_HIGH;
    while (high != again) { /* the low half began anew in between */
        high = again;
        low = MTIME_LOW;
        again = MTIME_HIGH;
    }
    return (uint32_t)(((uint64_t)high << 32 | low) / (TIMER_CLOCK_HZ / 1000000U));
}

#endif
