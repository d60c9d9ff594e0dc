"""How Relay spells operators."""
