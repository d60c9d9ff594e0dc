"""How TFLite spells operators: one reader per builtin operator, grouped by family."""
