/* tg_stack_paint of tg_target.h. */
#include "tg_embedded.h"
#include "tg_target.h"

#define QUOTE(text) #text
#define TEXT(macro) QUOTE(macro)

/* Assembly, because a compiled function may keep registers on the very stack that is painted. */
__attribute__((naked)) void tg_stack_paint(void)
{
    __asm__ volatile("la t0, tg_stack_limit\n\t"
                     "li t1, " TEXT(TG_STACK_PATTERN) "\n"
                                                      "1:\n\t"
                                                      "sw t1, 0(t0)\n\t"
                                                      "addi t0, t0, 4\n\t"
                                                      "bltu t0, sp, 1b\n\t"
                                                      "la t0, tg_painted_end\n\t"
                                                      "sw sp, 0(t0)\n\t"
                                                      "ret");
}
