"""All tasks of MLPerf Tiny at once: what they cost on boards, beside the figures of others."""
