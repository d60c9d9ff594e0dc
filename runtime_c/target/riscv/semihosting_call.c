/* "RISC-V Semihosting": a trap between two instructions that do nothing, none of them compressed, in one page. */
#include "tg_embedded.h"

int32_t tg_semihosting(int32_t operation, uintptr_t argument)
{
    register int32_t a0 __asm__("a0") = operation;
    register uintptr_t a1 __asm__("a1") = argument;

    __asm__ volatile(".option push\n\t"
                     ".option norvc\n\t"
                     ".balign 16\n\t"
                     "slli zero, zero, 31\n\t"
                     "ebreak\n\t"
                     "srai zero, zero, 7\n\t"
                     ".option pop"
        : "+r"(a0)
        : "r"(a1)
        : "memory");
    return a0;
}
