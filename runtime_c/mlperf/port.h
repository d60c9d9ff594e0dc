/* What a board supplies: four functions. */
#ifndef PORT_H
#define PORT_H

#include <stdint.h>

/** Make clocks, the serial port and the microsecond counter ready; called once, first. */
void port_start(void);

/** Wait for a character from the host. */
char port_read(void);

/** Send a character to the host; waits until there is room for it. */
void port_write(char character);

/** Microseconds since any moment, from a counter that runs through all 32 bits before it starts again at 0. */
uint32_t port_microseconds(void);

#endif
