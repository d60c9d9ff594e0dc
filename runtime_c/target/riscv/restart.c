/* tg_restart of tg_link.h: what is begun with at reset. */
#include "tg_link.h"

void Reset_Handler(void);

void tg_restart(void)
{
    Reset_Handler();
    for (;;) {
    }
}
