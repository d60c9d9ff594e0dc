"""Measurements of tinygen on public models, beside those of other tools."""
