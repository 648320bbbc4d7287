"""Python text, whatever the target: statements, parentheses, line breaks, headers."""
