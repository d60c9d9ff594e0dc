/*
 * Instructions by SysTick: under QEMU with -icount shift=0 an instruction takes one nanosecond of
 * virtual time, so a tick of the clock TG_SYSTICK_HZ is 10^9 / TG_SYSTICK_HZ instructions.
 */
#include "tg_target.h"

#ifndef TG_SYSTICK_HZ
#error "TG_SYSTICK_HZ: define the clock of SysTick in Hz (qemu.systick_hz of the board)"
#endif

#define SYST_CSR (*(volatile uint32_t *)0xE000E010U)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014U)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018U)
#define SCB_ICSR (*(volatile uint32_t *)0xE000ED04U)

#define CSR_ENABLE 1U
#define CSR_TICKINT 2U
#define CSR_CLKSOURCE 4U /* the processor's clock */
#define ICSR_PENDSTSET (1U << 26)
#define RELOAD 0xFFFFFFU
#define WRAP_SHIFT 24

/* Instructions of a tick with 24 fraction bits: exact to 10^-8, and 10^12 instructions fit into 64 bits. */
#define TICK_FRACTION_BITS 24
#define TICK_INSTRUCTIONS ((UINT64_C(1000000000) << TICK_FRACTION_BITS) / (TG_SYSTICK_HZ))

static volatile uint32_t wraps;
static uint32_t first_value;

void SysTick_Handler(void);

void SysTick_Handler(void)
{
    wraps = wraps + 1;
}

void tg_count_start(void)
{
    SYST_CSR = 0;
    SYST_RVR = RELOAD;
    SYST_CVR = 0;
    wraps = 0;
    SYST_CSR = CSR_CLKSOURCE | CSR_TICKINT | CSR_ENABLE;
    while (SYST_CVR == 0) { /* reads 0 until the first reload */
    }
    first_value = SYST_CVR;
}

uint64_t tg_count_stop(void)
{
    __asm__ volatile("cpsid i" : : : "memory");
    uint32_t value = SYST_CVR;
    uint32_t wrapped = wraps;

    if ((SCB_ICSR & ICSR_PENDSTSET) != 0) { /* wrapped around while interrupts were off */
        value = SYST_CVR;
        wrapped++;
    }
    SYST_CSR = 0;
    __asm__ volatile("cpsie i" : : : "memory");

    const uint64_t ticks = ((uint64_t)wrapped << WRAP_SHIFT) + first_value - value;
    return (ticks * TICK_INSTRUCTIONS) >> TICK_FRACTION_BITS;
}
