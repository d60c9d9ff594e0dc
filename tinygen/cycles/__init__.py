"""Modelled cycles: what executed instructions would take on a core with memory that never makes it wait."""
