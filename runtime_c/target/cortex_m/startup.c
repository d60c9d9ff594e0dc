/* Reset, vector table and faults for any Cortex-M, with the symbols of the generated linker script. */
#include "tg_embedded.h"
#include "tg_target.h"

void Reset_Handler(void);
void SysTick_Handler(void);
void tg_fault(uint32_t pc);

#define SCB_CCR (*(volatile uint32_t *)0xE000ED14U)
#define SCB_CFSR (*(volatile uint32_t *)0xE000ED28U)
#define SCB_CPACR (*(volatile uint32_t *)0xE000ED88U)

#define CCR_UNALIGN_TRP (1U << 3)
#define CCR_LOB (1U << 19)           /* Armv8.1-M: low-overhead loops */
#define CPACR_CP10_CP11 (0xFU << 20) /* FPU and MVE */

#define PC_UNKNOWN 0xFFFFFFFFU /* no instruction has an odd address */

/* Core features that are off after reset. */
static void enable_features(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    SCB_CPACR |= CPACR_CP10_CP11;
#endif
#if defined(__ARM_FEATURE_MVE)
    SCB_CCR |= CCR_LOB;
#endif
#if __ARM_ARCH == 6 || defined(__ARM_ARCH_8M_BASE__)
    SCB_CCR |= CCR_UNALIGN_TRP; /* always so on these; needed where a larger core stands in for one */
#endif
#if __ARM_ARCH >= 8
    __asm__ volatile("msr msplim, %0" : : "r"(tg_stack_limit));
#endif
    tg_synchronize_code();
}

void tg_synchronize_code(void)
{
    __asm__ volatile("dsb\n\tisb" : : : "memory");
}

void Reset_Handler(void)
{
    enable_features();
    tg_run();
}

/* Says what is known of a fault and ends the program. `used`: only assembly refers to it, which LTO does not see. */
__attribute__((used)) void tg_fault(uint32_t pc)
{
    if (pc == PC_UNKNOWN) {
        tg_print("fault: stack overflow");
    } else {
        tg_print_hex("fault: at 0x", pc);
    }
#if __ARM_ARCH >= 7
    tg_print_hex(", CFSR 0x", SCB_CFSR);
#endif
    tg_print("\n");
    tg_exit(TG_EXIT_FAULT);
}

/*
 * Takes the program counter out of the exception frame, if the frame lies in the stack, and goes on
 * with a fresh stack: the old one may be what is broken.
 */
__attribute__((naked)) static void fault_entry(void)
{
    __asm__ volatile(".syntax unified\n\t"
                     "mov r0, sp\n\t"
                     "ldr r1, =tg_stack_limit\n\t"
                     "cmp r0, r1\n\t"
                     "blo 1f\n\t"
                     "ldr r0, [r0, #24]\n\t"
                     "b 2f\n"
                     "1:\n\t"
                     "movs r0, #0\n\t"
                     "mvns r0, r0\n"
                     "2:\n\t"
                     "ldr r1, =tg_stack_top\n\t"
                     "mov sp, r1\n\t"
                     "ldr r1, =tg_fault\n\t"
                     "bx r1\n\t"
                     ".ltorg");
}

__attribute__((weak)) void SysTick_Handler(void)
{
}

typedef void (*vector)(void);

/* Exceptions 1 to 15; no board interrupt is ever enabled. */
__attribute__((used, section(".vectors"))) static const struct {
    uint32_t *stack;
    vector handlers[15];
} vectors = {
    tg_stack_top,
    {Reset_Handler, fault_entry, fault_entry, fault_entry, fault_entry, fault_entry, fault_entry, 0, 0, 0, fault_entry,
        fault_entry, 0, fault_entry, SysTick_Handler},
};
