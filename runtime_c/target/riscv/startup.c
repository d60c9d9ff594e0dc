/* Reset and traps of a core in machine mode, with the symbols of the generated linker script. */
#include "tg_embedded.h"
#include "tg_target.h"

void Reset_Handler(void);
void tg_fault(uint32_t cause, uint32_t pc, uint32_t address);

/*
 * The emulator begins with the first byte of the image, so this stands there. Constants are locked by PMP as read-only:
 * entry 0 ends at the code, entry 1 (top of range, X and R, locked) at the end of the memory. Whatever lies below the
 * stack is then not written either, where that is where the stack's memory begins behind the code's.
 */
__attribute__((naked, used, section(".vectors"))) void Reset_Handler(void)
{
    __asm__ volatile(".option push\n\t"
                     ".option arch, +zicsr\n\t"
                     ".option norelax\n\t"
                     "la gp, __global_pointer$\n\t"
                     "la sp, tg_stack_top\n\t"
                     "la tp, tg_tls_start\n\t"
                     "la t0, tg_trap\n\t"
                     "csrw mtvec, t0\n\t"
                     "li t0, 0x6600\n\t" /* FS and VS: float and vector registers may be used */
                     "csrs mstatus, t0\n\t"
                     "la t0, tg_code_start\n\t"
                     "srli t0, t0, 2\n\t"
                     "csrw pmpaddr0, t0\n\t"
                     "la t0, tg_code_end\n\t"
                     "srli t0, t0, 2\n\t"
                     "csrw pmpaddr1, t0\n\t"
                     "li t0, 0x8D00\n\t"
                     "csrw pmpcfg0, t0\n\t"
                     ".option pop\n\t"
                     "j tg_run");
}

void tg_synchronize_code(void)
{
    __asm__ volatile(".option push\n\t.option arch, +zifencei\n\tfence.i\n\t.option pop" : : : "memory");
}

/* Goes on with a fresh stack: the old one may be what is broken. Traps have no low bits in their address. */
__attribute__((naked, used, aligned(4))) void tg_trap(void);

__attribute__((naked, used, aligned(4))) void tg_trap(void)
{
    __asm__ volatile(".option push\n\t"
                     ".option arch, +zicsr\n\t"
                     "la sp, tg_stack_top\n\t"
                     "csrr a0, mcause\n\t"
                     "csrr a1, mepc\n\t"
                     "csrr a2, mtval\n\t"
                     ".option pop\n\t"
                     "j tg_fault");
}

/* Says what is known of a fault and ends the program. */
__attribute__((used)) void tg_fault(uint32_t cause, uint32_t pc, uint32_t address)
{
    tg_print_hex("fault: at 0x", pc);
    tg_print_hex(", mcause 0x", cause);
    tg_print_hex(", mtval 0x", address);
    tg_print("\n");
    tg_exit(TG_EXIT_FAULT);
}
