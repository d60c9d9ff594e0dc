/* "Semihosting for AArch32 and AArch64": the trap of Thumb. */
#include "tg_embedded.h"

int32_t tg_semihosting(int32_t operation, uintptr_t argument)
{
    register int32_t r0 __asm__("r0") = operation;
    register uintptr_t r1 __asm__("r1") = argument;

    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}
