"""From a Plan to the text of a module."""
