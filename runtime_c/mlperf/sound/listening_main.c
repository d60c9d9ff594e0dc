/* MLPerf Tiny firmware that listens: commands from the host, and blocks of samples, for ever. */
#include "listen.h"
#include "mlperf_api.h"
#include "sound_port.h"

int main(void)
{
    ee_benchmark_initialize();
    for (;;) {
        if (port_has_character()) {
            ee_serial_callback(th_getchar());
        } else {
            (void)listen_to_block();
        }
    }
}
