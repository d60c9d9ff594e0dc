/* MLPerf Tiny firmware: commands from the host, one after the other, for ever. */
#include "mlperf_api.h"

int main(void)
{
    ee_benchmark_initialize();
    for (;;) {
        ee_serial_callback(th_getchar());
    }
}
