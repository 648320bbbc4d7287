"""docs/coverage.md is what tests/coverage_page.py writes."""

from __future__ import annotations

import re

import pytest

from tests import coverage_page


def test_the_page_is_up_to_date() -> None:
    text = coverage_page.PAGE.read_text("utf-8")
    for name, version in coverage_page.VERSIONS.items():
        wanted = re.search(rf"{name} (\d+\.\d+)", text)
        assert wanted is not None
        if wanted[1] != coverage_page.minor(version):
            pytest.skip(f"the page is of {name} {wanted[1]}, whose functions are others")
    same = coverage_page.render() == text
    assert same, f"docs/coverage.md is out of date: run {coverage_page.COMMAND}"
