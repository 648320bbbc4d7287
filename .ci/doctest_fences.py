"""A griffe extension: examples in docstrings as code blocks of Markdown.

Markdown takes `>>>` for a quotation, so each run of such lines gets a fence around it. The
docstring of a class documents the parameters of its `__init__`, whose own docstring is left out.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>> .*\n?(?:^(?!\n).+\n?)*", re.MULTILINE)


class DoctestFences(griffe.Extension):
    """Put each example of a docstring between fences."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called by griffe for each object that it has read."""
        if obj.name == "__init__":
            obj.docstring = None
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )
