"""Nested dicts into dataclasses: types, unknown keys, documentation."""

import dataclasses
import math
from typing import Any

import pytest

from jaxbar.parse import documentation, from_dict, keys
from jaxbar.settings import RunSettings


@dataclasses.dataclass(frozen=True)
class Inner:
    """Inner things.

    Args:
        ohms: of a wire,
            in ohm. More about it.
        count: how many.
    """

    ohms: Any = 0.0
    count: int | None = None

    def __post_init__(self):
        if self.ohms < 0:
            raise ValueError(f"Inner.ohms = {self.ohms}: must be ≥ 0")


@dataclasses.dataclass(frozen=True)
class Outer:
    """Outer things.

    Args:
        inner: a section.
        shape: two numbers.

    Raises:
        ValueError: never.
    """

    inner: Inner | None = None
    shape: tuple[int, int] = (1, 1)
    sizes: tuple[float, ...] = ()
    word: str = "a"
    flag: bool = False
    rate: float = 1.0

    def __post_init__(self):
        if self.word == "bad":
            raise ValueError("words must be good")


def test_converts_every_type():
    made = from_dict(
        Outer,
        {
            "inner": {"ohms": 2, "count": 3},
            "shape": [4, 5],
            "sizes": [1, 2.5],
            "word": "b",
            "flag": True,
            "rate": math.inf,
        },
    )
    assert made == Outer(Inner(2.0, 3), (4, 5), (1.0, 2.5), "b", True, math.inf)
    assert isinstance(made.inner.ohms, float)
    assert isinstance(made.sizes[0], float)


def test_none_is_a_word():
    assert from_dict(Outer, {"inner": "none"}).inner is None
    assert from_dict(Outer, {"inner": {"count": "none"}}).inner == Inner()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rate": "fast"}, "rate = 'fast': must be a number"),
        ({"rate": True}, "rate = True: must be a number"),
        ({"rate": "none"}, "rate = 'none': must be a number"),
        ({"word": 3}, "word = 3: must be a text"),
        ({"flag": 1}, "flag = 1: must be true or false"),
        ({"shape": [1]}, "shape = [1]: must be a list of 2, each a whole number (two numbers)"),
        ({"shape": [1, 2.5]}, "shape[1] = 2.5: must be a whole number (two numbers)"),
        ({"sizes": 3}, "sizes = 3: must be a list, each a number"),
        ({"inner": 3}, "inner = 3: is a section with keys of its own: ohms, count"),
        (
            {"inner": {"count": 1.5}},
            'inner.count = 1.5: must be a whole number or "none" (how many)',
        ),
        ({"inner": {"ohms": "x"}}, "inner.ohms = 'x': must be a number (of a wire, in ohm)"),
        ({"inner": {"ohms": -1}}, "inner.ohms = -1.0: must be ≥ 0"),
        ({"word": "bad"}, "words must be good"),
    ],
)
def test_wrong_value(values, message):
    with pytest.raises(ValueError) as caught:
        from_dict(Outer, values)
    assert str(caught.value) == message


def test_unknown_key_names_the_nearest():
    with pytest.raises(ValueError, match=r"^unknown key rat: did you mean rate\? the top level"):
        from_dict(Outer, {"rat": 1.0})
    with pytest.raises(ValueError, match=r"inner\.ohm: did you mean inner\.ohms\? \[inner\] knows"):
        from_dict(Outer, {"inner": {"ohm": 1.0}})
    with pytest.raises(ValueError, match=r"^unknown key zzz: the top level knows inner, shape"):
        from_dict(Outer, {"zzz": 1.0})


def test_key_of_another_section_is_found():
    with pytest.raises(ValueError, match=r"unknown key ohms: did you mean inner\.ohms\?"):
        from_dict(Outer, {"ohms": 1.0})


def test_documentation_ends_with_its_section():
    assert documentation(Inner) == {
        "ohms": "of a wire, in ohm. More about it.",
        "count": "how many.",
    }
    assert list(documentation(Outer)) == ["inner", "shape"]


def test_every_setting_is_documented():
    undocumented = [
        name for name, kind, field in keys(RunSettings) if not documentation(kind).get(field)
    ]
    assert undocumented == []
    assert {"seed", "data.path", "crossbar.r_on", "crossbar.wires.word", "crossbar.adc.bits"} <= {
        name for name, _, _ in keys(RunSettings)
    }
