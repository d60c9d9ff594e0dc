/* How deep the stack got: free words are painted, and the lowest one that changed is looked for. */
#include "tg_embedded.h"
#include "tg_target.h"

__attribute__((used)) const uint32_t *volatile tg_painted_end;

uint32_t tg_stack_used(void)
{
    const volatile uint32_t *word = tg_stack_limit;

    while (word < tg_painted_end && *word == TG_STACK_PATTERN) {
        word++;
    }
    return (uint32_t)((uintptr_t)tg_painted_end - (uintptr_t)word);
}
