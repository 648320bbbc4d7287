"""Arguments described on the command line."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.cli.call_spec import given_for, parsed
from tracejit.cli.output import Refusal
from tracejit.trace.arguments.signature import TensorSpec


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("f8[3]", TensorSpec((3,))),
        ("float32[2, 3]", TensorSpec((2, 3), np.float32)),
        ("f8[n,3]", TensorSpec((None, 3))),
        ("f8[:, None]", TensorSpec((None, None))),
        ("f8[]", TensorSpec(())),
        ("i8", np.int64(1)),
        ("float", 1.0),
        ("bool", True),
        ("0.1", 0.1),
        ("-2", -2),
        ("'fast'", "fast"),
        ("None", None),
        ("[f8[3], f8[]]", [TensorSpec((3,)), TensorSpec(())]),
        ("(f8[3], 2)", (TensorSpec((3,)), 2)),
        ("{'w': f8[3], 'b': {'c': f4[2]}}",
         {"w": TensorSpec((3,)), "b": {"c": TensorSpec((2,), np.float32)}}),
    ],
)  # fmt: skip
def test_descriptions(text, value):
    (found,) = parsed([text]).args
    assert found == value and type(found) is type(value)
    assert parsed([f"x={text}"]).kwargs == {"x": value}


def test_descriptions_may_be_several():
    given = parsed(["f8[3]", "x=f8[2],", "rate=0.5"])
    assert given.args == (TensorSpec((3,)),)
    assert given.kwargs == {"x": TensorSpec((2,)), "rate": 0.5}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x=f8[3", "cannot be read as the arguments of a call"),
        ("x=)f(", "cannot be read as the arguments of a call"),
        ("x=ff8[3]", "ff8 is not a NumPy dtype. Did you mean f8?"),
        ("x=f8[-1]", "-1 is not a size"),
        ("x=f8[2.5]", "2.5 is not a size"),
        ("x=f8[1:2]", "1:2 is not a size"),
        ("p={w: f8[3]}", "w is not a key of a dict: write 'w', in quotes."),
        ("x=open('file')", "open('file') does not describe"),
        ("x=f8[True]", "True is not a size"),
    ],
)
def test_what_is_no_description_is_said(text, said):
    with pytest.raises(Refusal) as caught:
        parsed([text])
    assert said in str(caught.value) and caught.value.code == 2


def test_a_description_must_fit_the_function():
    f = tj.function(lambda x, y: x + y)
    with pytest.raises(Refusal, match="missing a required argument: 'y'"):
        given_for(f, ["x=f8[3]"], "show m:f")


def test_variable_arguments_are_shown_as_one():
    def total(*xs, scale=1.0, **more):
        return sum(xs) * scale

    with pytest.raises(Refusal, match=r'--spec "xs=f8\[10,3\]"'):
        given_for(tj.function(total), None, "show m:total")
