/*
 * Instructions by minstret: under QEMU with -icount shift=0 it counts each of them.
 * With TG_COUNTS_CYCLES, on a board: cycles of the core by mcycle.
 */
#include "tg_target.h"

#ifdef TG_COUNTS_CYCLES
#include "tg_link.h"
#define COUNTER "mcycle"
#else
#define COUNTER "minstret"
#endif

static uint64_t first_value;

/* The upper word may change between the two reads of the lower one. */
static uint64_t counted(void)
{
    uint32_t high;
    uint32_t low;
    uint32_t again;

    do {
        __asm__ volatile(".option push\n\t"
                         ".option arch, +zicsr\n\t"
                         "csrr %0, " COUNTER "h\n\t"
                         "csrr %1, " COUNTER "\n\t"
                         "csrr %2, " COUNTER "h\n\t"
                         ".option pop"
            : "=r"(high), "=r"(low), "=r"(again)
            :
            : "memory");
    } while (high != again);
    return ((uint64_t)high << 32) | low;
}

#ifdef TG_COUNTS_CYCLES
enum tg_counter tg_counter_kind(void)
{
    return TG_COUNTER_MCYCLE;
}
#endif

void tg_count_start(void)
{
    first_value = counted();
}

uint64_t tg_count_stop(void)
{
    return counted() - first_value;
}
