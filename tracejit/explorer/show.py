"""Show: the pages and the notebook fragments of kernels and functions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tracejit.explorer.notebook import explorer_fragment
from tracejit.explorer.page import page_of, subtitle_of, write
from tracejit.explorer.story import ShownKernel, Story


def kernel_page(
    kernel: ShownKernel, path: str | os.PathLike[str] | None = None, profile: Any = None
) -> str:
    """The page of one kernel, written to `path` where one is given."""
    stories = [Story(kernel, profile=profile)]
    return write(page_of(_title(kernel), subtitle_of(kernel.place, stories), stories), path)


def _title(kernel: ShownKernel) -> str:
    """The name of the user's function, with which the text begins."""
    return kernel.source.removeprefix('"""').partition(":")[0]


def function_page(
    name: str, place: str, stories: Sequence[Story], path: str | os.PathLike[str] | None = None
) -> str:
    """The page of a function's kernels, written to `path` where one is given."""
    return write(page_of(name, subtitle_of(place, stories), stories), path)


def kernel_fragment(kernel: ShownKernel) -> str:
    """The small explorer of a kernel for a notebook."""
    return explorer_fragment(_title(kernel), [Story(kernel)])


def function_fragment(name: str, stories: Sequence[Story], told: str) -> str:
    """The small explorer of a function's newest kernel, and what there is to say of all."""
    return explorer_fragment(name, stories, told)
