"""Keys, names, seals and constants: what `tracejit.cache.key` promises about bytes."""

import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tracejit as tj
from tests.support.processes import python
from tracejit.cache.key import (
    KERNEL_NAME,
    constants_bytes,
    digest,
    kernel_name,
    key_of,
    mark,
    seal,
    sealed_size,
    verify,
)
from tracejit.support.errors import UnsupportedError

ROOT = Path(tj.__file__).parents[1]
KEY = "3f9a1c07" + 56 * "0"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("ab",), ("ab", "")),
        ((), ("",)),
        (("a",), (b"a",)),
        (("a", "b"), ("b", "a")),
        (("1:a",), ("", "a")),
        (("as1:b",), ("a", "b")),
        (("\ud800",), ("\ud801",)),
    ],
)
def test_different_parts_have_different_digests(one, other):
    assert digest(*one) != digest(*other)


def test_digest_is_a_sha256_and_stays_the_same():
    assert re.fullmatch("[0-9a-f]{64}", digest("ab", b"\x00c"))
    assert digest("loss", b"\x01").startswith("5ab8efcfd14782eb03553ed339bb666f")


@pytest.mark.parametrize(
    ("function", "signature", "name"),
    [
        ("loss", "f8_32x16", "loss__f8_32x16__3f9a1c07"),
        ("loss", "f8_32x16__f8_16x8", "loss__f8_32x16__f8_16x8__3f9a1c07"),
        ("loss", "", "loss__3f9a1c07"),
        ("<lambda>", "f8", "lambda___f8__3f9a1c07"),
        ("Model.loss", "f8", "Model_loss__f8__3f9a1c07"),
        ("make.<locals>.loss", "f8", "make_loss__f8__3f9a1c07"),
        ("größe", "f8[3]", "gr__e__f8_3___3f9a1c07"),
        ("3d conv", "f8", "_3d_conv__f8__3f9a1c07"),
        ("", "f8", "kernel__f8__3f9a1c07"),
        ("../../etc/passwd", "f8", "______etc_passwd__f8__3f9a1c07"),
        (
            "a_function_with_a_name_that_goes_on_and_on",
            "f8_3__f8_4__f8_5__f8_6__f8_7__f8_8",
            "a_function_with_a_name_that_go__f8_3__f8_4__f8_5__3f9a1c07",
        ),
        ("f", "f8_" + "x".join(60 * "9"), "f__3f9a1c07"),
    ],
)
def test_kernel_name(function, signature, name):
    assert kernel_name(function, signature, KEY) == name
    assert len(name) <= 60
    assert name.isidentifier()
    assert KERNEL_NAME.fullmatch(name)


def test_key_of_reads_the_header_line():
    assert key_of(f'"""loss.\n\n    key          {KEY}\n"""\n') == KEY
    assert key_of(f'"""loss.\n\n    key          {KEY}            numpy 2.4\n"""\n') == KEY
    assert key_of(f'"""loss.\n\n    key          {KEY[:-1]}\n"""\n') is None
    assert key_of(f'"""loss.\n\n    key          {KEY}0\n"""\n') is None
    assert key_of("x = 1\n") is None


@pytest.mark.parametrize("text", ["", "\n", "x = 1", "x = 1\n", "x = 1\r\ny = 2\r\n", "é = '🙂'\n"])
@pytest.mark.parametrize("npz", [None, b"", b"constants"])
def test_what_is_sealed_verifies(text, npz):
    sealed = seal(text, npz)
    assert verify(sealed, npz) is None
    assert sealed_size(sealed) == (None if npz is None else len(npz))
    assert sealed.endswith("\n")


def test_every_truncation_and_every_changed_character_is_found():
    sealed = seal("def forward(x):\n    return 2 * x\n", b"constants")
    for end in range(len(sealed)):
        assert verify(sealed[:end], b"constants") is not None
    for place in range(len(sealed)):
        changed = sealed[:place] + chr(ord(sealed[place]) ^ 1) + sealed[place + 1 :]
        assert verify(changed, b"constants") is not None


@pytest.mark.parametrize(
    ("text", "npz", "problem"),
    [
        ("x = 1\n", None, "not a kernel"),
        (seal("x = 1\n") + "y = 2\n", None, "not a kernel"),
        ("y = 2\n" + seal("x = 1\n"), None, "changed after"),
        (seal("x = 1\n").replace("\n", "\r\n"), None, "not a kernel"),
        (seal("x = 1\n"), b"constants", "without constants"),
        (seal("x = 1\n", b"constants"), None, "missing"),
        (seal("x = 1\n", b"constants"), b"Constants", "were changed"),
        (seal("x = 1\n", b"constants"), b"", "were changed"),
    ],
)
def test_verify_names_the_problem(text, npz, problem):
    assert problem in (verify(text, npz) or "intact")


def test_a_mark_depends_on_secret_name_text_and_constants():
    sealed = seal("x = 1\n", b"constants")
    marks = {
        mark(b"secret", "loss__3f9a1c07", sealed),
        mark(b"Secret", "loss__3f9a1c07", sealed),
        mark(b"secret", "loss__3f9a1c08", sealed),
        mark(b"secret", "loss__3f9a1c07", seal("x = 2\n", b"constants")),
        mark(b"secret", "loss__3f9a1c07", seal("x = 1\n", b"Constants")),
        mark(b"secret", "loss__3f9a1c07", seal("x = 1\n")),
    }
    assert len(marks) == 6
    assert all(re.fullmatch("[0-9a-f]{64}", one) for one in marks)


ARRAYS = """
import hashlib
import numpy as np
from tracejit.cache.key import constants_bytes
arrays = {
    "w": np.arange(6.0).reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
    "strided": np.arange(10)[::3],
    "scalar": np.array(3 + 4j),
    "empty": np.zeros((0, 3), bool),
    "swapped": np.arange(3, dtype=">i4"),
    "special": np.array([np.nan, -0.0, np.inf]),
    "é": np.array([b"ab"]),
}
"""


def test_constants_come_back_as_they_were():
    scope = {}
    exec(ARRAYS, scope)
    arrays = scope["arrays"]
    with np.load(io.BytesIO(constants_bytes(arrays)), allow_pickle=False) as loaded:
        assert sorted(loaded) == sorted(arrays)
        for name, array in arrays.items():
            again = loaded[name]
            assert again.dtype == array.dtype
            assert again.shape == array.shape
            assert again.tobytes() == array.tobytes()
            assert again.flags.f_contiguous == array.flags.f_contiguous or name == "strided"


def test_constants_are_the_same_bytes_in_every_run_and_order():
    scope = {}
    exec(ARRAYS, scope)
    script = ARRAYS + "print(hashlib.sha256(constants_bytes(arrays)).hexdigest())"
    printed = python(script)
    backwards = dict(reversed(scope["arrays"].items()))
    assert digest(constants_bytes(backwards)) == digest(constants_bytes(scope["arrays"]))
    # Also the same for every Python and NumPy that CI runs.
    assert printed.startswith("6c751a11eeb72c6294b98c4d4c62dbf2")


def test_constants_are_stored_plainly_and_without_a_clock():
    with zipfile.ZipFile(io.BytesIO(constants_bytes({"w": np.ones(3)}))) as archive:
        (member,) = archive.infolist()
    assert member.filename == "w.npy"
    assert member.compress_type == zipfile.ZIP_STORED
    assert member.date_time == (1980, 1, 1, 0, 0, 0)


@pytest.mark.parametrize(
    "array",
    [
        np.array([1, "a", None], dtype=object),
        np.zeros(2, dtype=[("a", "f8")]),
        np.zeros(2, dtype=[("a", object)]),
    ],
)
def test_constants_that_need_pickle_or_lose_their_dtype_are_refused(array):
    with pytest.raises(UnsupportedError, match="the constant w has dtype"):
        constants_bytes({"w": array})
