"""The user's code beside forward and backward."""

from __future__ import annotations

import importlib.util
import re

import pytest

from tracejit.cli.side_by_side import UserCode, blocks_of, column_of, painter, rows, table

SOURCE = '''"""loss: forward and backward."""
from numpy import tanh

c1 = 1.0


def forward(x):
    """Return (out, residuals)."""
    # loss:1  h = helper(x)
    # helper:1  return np.tanh(x)
    h = tanh(x)
    # loss:2  return h * h
    for k in range(3):
        h *= h
    return h, (x,)


def backward(residuals, out_bar=1.0):
    """Return x_bar."""
    x, = residuals
    # loss:2  return h * h
    h_bar = 2.0 * out_bar
    # helper:1  return np.tanh(x)
    return h_bar
# tracejit sha256 00
'''
CODE = UserCode("loss", "m.py", 10, 11, ["@tj.function", "def loss(x):", "    h = helper(x)",
                                         "    return h * h"])  # fmt: skip


def test_blocks_are_those_of_the_comments():
    blocks = blocks_of(SOURCE, "forward")
    assert [block.label for block in blocks] == ["", "loss:1", "helper:1", "loss:2"]
    assert blocks[3].lines == ["for k in range(3):", "    h *= h", "return h, (x,)"]
    assert blocks_of(SOURCE, "value_and_grad") == []
    assert blocks_of(SOURCE, "backward")[-1].lines == ["return h_bar"]


def test_every_generated_line_has_its_place():
    columns = [blocks_of(SOURCE, name) for name in ("forward", "backward")]
    found = rows(CODE, columns)
    assert [left for left, _ in found] == [
        "  10  @tj.function",
        "  11  def loss(x):",
        "  12      h = helper(x)",
        "  13      return h * h",
        "helper:1  return np.tanh(x)",
    ]
    beside = {left[:4].strip(): others for left, others in found}
    assert beside["11"][1] == [
        "def backward(residuals, out_bar=1.0):", '    """Return x_bar."""', "    x, = residuals"
    ]  # fmt: skip
    assert beside["13"] == [["for k in range(3):", "    h *= h", "return h, (x,)"],
                            ["h_bar = 2.0 * out_bar"]]  # fmt: skip
    assert beside["help"] == [["h = tanh(x)"], ["return h_bar"]]


def test_without_the_users_text_the_comments_stand_for_it():
    found = rows(None, [blocks_of(SOURCE, "forward")])
    assert [left for left, _ in found] == [
        "", "helper:1  return np.tanh(x)", "loss:2  return h * h"
    ]  # fmt: skip


@pytest.mark.parametrize("width", [60, 101, 200])
def test_a_table_fits_the_terminal_and_drops_nothing(width):
    columns = [blocks_of(SOURCE, name) for name in ("forward", "backward")]
    text = table(["user", "forward", "backward"], rows(CODE, columns), width)
    assert max(map(len, text.splitlines())) < width
    cells = re.sub(r"[│─┼\s]", "", text)
    for word in ("tanh(x)", "range(3)", "h_bar"):
        assert word in cells


def test_colours_change_no_letter():
    if importlib.util.find_spec("rich") is None:
        assert painter() is None
        return
    paint = painter()
    assert paint is not None
    for line in ("def loss(x):", "    return np.sum(x) * 0.5  # half", "", '    """Text."""'):
        assert re.sub(r"\x1b\[[0-9;]*m", "", paint(line)) == line


TILED = '''def tile_1(start, stop, x):
    # loss:1  h = helper(x)
    return tanh(x[start:stop])


def forward(x):
    """Return out."""
    # loss:2  return h * h
    y = 1
    # loss:1  h = helper(x)
    h = in_turn(tile_1, 3, x)
    # loss:2  return h * h
    return h * y
'''


def test_tile_functions_stand_beside_their_statements():
    found = {left.strip(): beside for left, (beside,) in rows(CODE, [column_of(TILED, "forward")])}
    assert found["12      h = helper(x)"] == [
        "h = in_turn(tile_1, 3, x)", "⋮", "# tile_1", "return tanh(x[start:stop])"
    ]  # fmt: skip


def test_dots_stand_where_other_statements_run():
    found = {left.strip(): beside for left, (beside,) in rows(CODE, [column_of(TILED, "forward")])}
    assert found["13      return h * h"] == ["y = 1", "⋮", "return h * y"]
