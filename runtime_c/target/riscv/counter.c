/* Instructions by minstret: under QEMU with -icount shift=0 it counts each of them. */
#include "tg_target.h"

static uint64_t first_value;

/* The upper word may change between the two reads of the lower one. */
static uint64_t retired(void)
{
    uint32_t high;
    uint32_t low;
    uint32_t again;

    do {
        __asm__ volatile(".option push\n\t"
                         ".option arch, +zicsr\n\t"
                         "csrr %0, minstreth\n\t"
                         "csrr %1, minstret\n\t"
                         "csrr %2, minstreth\n\t"
                         ".option pop"
            : "=r"(high), "=r"(low), "=r"(again)
            :
            : "memory");
    } while (high != again);
    return ((uint64_t)high << 32) | low;
}

void tg_count_start(void)
{
    first_value = retired();
}

uint64_t tg_count_stop(void)
{
    return retired() - first_value;
}
