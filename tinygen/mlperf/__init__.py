"""MLPerf Tiny: firmware for the five tasks, and a runner that drives it as the benchmark's own does."""
