/*
 * Instructions by SysTick: under QEMU with -icount shift=0 an instruction takes one nanosecond of
 * virtual time, so a tick of the clock TG_SYSTICK_HZ is 10^9 / TG_SYSTICK_HZ instructions.
 * With TG_COUNTS_CYCLES, on a board: cycles of the core, by the cycle counter of the DWT where there is one.
 */
#include "tg_target.h"

#ifdef TG_COUNTS_CYCLES
#include "tg_link.h"
#define TG_SYSTICK_HZ 1000000000U /* a tick is one */
#endif

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

#ifdef TG_COUNTS_CYCLES
#define DEMCR (*(volatile uint32_t *)0xE000EDFCU)
#define DWT_CTRL (*(volatile uint32_t *)0xE0001000U)
#define DWT_CYCCNT (*(volatile uint32_t *)0xE0001004U)
#define DWT_LAR (*(volatile uint32_t *)0xE0001FB0U) /* Cortex-M7 locks its registers */

#define DEMCR_TRCENA (1U << 24)
#define DWT_CYCCNTENA 1U
#define DWT_UNLOCK 0xC5ACCE55U
#define TRIES 64

static enum tg_counter kind;
static uint32_t first_cycle;

/* Whether the cycle counter runs: cores may lack it, and emulators. */
static int has_cycle_counter(void)
{
#if __ARM_ARCH >= 7 && !defined(__ARM_ARCH_8M_BASE__)
    uint32_t before;

    DEMCR |= DEMCR_TRCENA;
    DWT_LAR = DWT_UNLOCK;
    DWT_CTRL |= DWT_CYCCNTENA;
    before = DWT_CYCCNT;
    for (int i = 0; i < TRIES; ++i) {
        if (DWT_CYCCNT != before) {
            return 1;
        }
    }
#endif
    return 0;
}

enum tg_counter tg_counter_kind(void)
{
    if (kind == 0) {
        kind = has_cycle_counter() ? TG_COUNTER_DWT : TG_COUNTER_SYSTICK;
    }
    return kind;
}
#endif

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
#ifdef TG_COUNTS_CYCLES
    first_cycle = DWT_CYCCNT;
#endif
}

uint64_t tg_count_stop(void)
{
#ifdef TG_COUNTS_CYCLES
    const uint32_t counted = DWT_CYCCNT - first_cycle;
#endif
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
#ifdef TG_COUNTS_CYCLES
    if (kind == TG_COUNTER_DWT && ticks <= UINT32_MAX - RELOAD) { /* longer ones wrap its 32 bits */
        return counted;
    }
#endif
    return (ticks * TICK_INSTRUCTIONS) >> TICK_FRACTION_BITS;
}
