/* tg_stack_paint of tg_target.h. */
#include "tg_embedded.h"
#include "tg_target.h"

#define QUOTE(text) #text
#define TEXT(macro) QUOTE(macro)

/* Assembly, because a compiled function may keep registers on the very stack that is painted. */
__attribute__((naked)) void tg_stack_paint(void)
{
    __asm__ volatile(".syntax unified\n\t"
                     "ldr r0, =tg_stack_limit\n\t"
                     "mov r1, sp\n\t"
                     "ldr r2, =" TEXT(TG_STACK_PATTERN) "\n"
                                                        "1:\n\t"
                                                        "stmia r0!, {r2}\n\t"
                                                        "cmp r0, r1\n\t"
                                                        "blo 1b\n\t"
                                                        "ldr r0, =tg_painted_end\n\t"
                                                        "str r1, [r0]\n\t"
                                                        "bx lr\n\t"
                                                        ".ltorg");
}
