"""Modelled cycles: what executed instructions would take on a core, with its flash where that is described."""
