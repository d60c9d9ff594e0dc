/* How deep the stack got: free words are painted, and the lowest one that changed is looked for. */
#include "tg_target.h"

#define PATTERN 0xC5A3965C
#define QUOTE(text) #text
#define TEXT(macro) QUOTE(macro)

extern const uint32_t tg_stack_limit[];

__attribute__((used)) static const volatile uint32_t *painted_end;

/* Assembly, because a compiled function may keep registers on the very stack that is painted. */
__attribute__((naked)) void tg_stack_paint(void)
{
    __asm__ volatile(".syntax unified\n\t"
                     "ldr r0, =tg_stack_limit\n\t"
                     "mov r1, sp\n\t"
                     "ldr r2, =" TEXT(PATTERN) "\n"
                                               "1:\n\t"
                                               "stmia r0!, {r2}\n\t"
                                               "cmp r0, r1\n\t"
                                               "blo 1b\n\t"
                                               "ldr r0, =painted_end\n\t"
                                               "str r1, [r0]\n\t"
                                               "bx lr\n\t"
                                               ".ltorg");
}

uint32_t tg_stack_used(void)
{
    const volatile uint32_t *word = tg_stack_limit;

    while (word < painted_end && *word == PATTERN) {
        word++;
    }
    return (uint32_t)((uintptr_t)painted_end - (uintptr_t)word);
}
