"""Nested dicts, as TOML gives them, into nested frozen dataclasses; strictly."""

import dataclasses
import difflib
import functools
import inspect
import operator
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ._check import check_choice


class Choices(typing.NamedTuple):
    """The classes that a section may be one of, in a field's metadata under "choices".

    A field that is a tuple takes a list of such sections.

    Args:
        key: of the section, whose value names the class.
        default: the class where the section lacks that key; None: it must be there.
        classes: by name; a function in their place takes simple values and may make several.
    """

    key: str
    default: str | None
    classes: Mapping[str, Callable[..., Any]]


def documentation(kind: type) -> dict[str, str]:
    """What the Args section of a dataclass's docstring says about each field, in one line."""
    text = inspect.cleandoc(kind.__doc__ or "").partition("\nArgs:\n")[2]
    entries: dict[str, list[str]] = {}
    name = ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            break  # the next section
        start = re.match(r"    (\w+): (.*)", line)
        if start:
            name = start[1]
            entries[name] = [start[2]]
        elif name and line.strip():
            entries[name].append(line.strip())
    return {name: " ".join(lines) for name, lines in entries.items()}


def keys(kind: type, prefix: str = "") -> Iterator[tuple[str, type, str]]:
    """Every key below a dataclass: its dotted name, the class that has it, the field's name."""
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        inner, _ = _options(hints[field.name])
        choices = field.metadata.get("choices")
        if choices is not None and choices.default is not None:
            inner = typing.cast(type, choices.classes[choices.default])
        if dataclasses.is_dataclass(inner):
            yield from keys(typing.cast(type, inner), f"{prefix}{field.name}.")
        else:
            yield prefix + field.name, kind, field.name


def from_dict(kind: type, values: dict[str, Any]) -> Any:
    """A dataclass from a dict; sections are dicts, tuples are lists, None is "none".

    Args:
        kind: a dataclass; fields may be int, float, bool, str, tuples, dataclasses, any of
            them or None, Any for a number or nested lists of them, and a class that the section
            names where their metadata hold `Choices`.
        values: by field name. Fields that are left out keep their default.

    Raises:
        ValueError: a key is unknown (the message names the nearest known one) or lacking, or a
            value is of the wrong type or not allowed (it names the key, the value and what is
            allowed).
    """
    return _build(kind, values, "", [name for name, _, _ in keys(kind)])


def to_dict(settings: Any) -> Any:
    """Nested dataclasses as dicts that `from_dict` reads, but for None; arrays as lists."""
    if isinstance(settings, list | tuple):
        return [to_dict(x) for x in settings]
    if hasattr(settings, "tolist"):
        return settings.tolist()
    if not dataclasses.is_dataclass(settings):
        return settings
    found = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        found[field.name] = to_dict(value)
        choices = field.metadata.get("choices")
        if choices is None:
            continue
        if isinstance(value, tuple):
            found[field.name] = [_named(choices, item) for item in value]
        elif dataclasses.is_dataclass(value):
            found[field.name] = _named(choices, value)
    return found


def _named(choices: Choices, value: Any) -> dict[str, Any]:
    return {choices.key: type(value).__name__, **to_dict(value)}


def _build(kind: type, values: dict[str, Any], prefix: str, everywhere: list[str]) -> Any:
    hints = typing.get_type_hints(kind)
    choices = {
        field.name: field.metadata["choices"]
        for field in dataclasses.fields(kind)
        if "choices" in field.metadata
    }
    known = [field.name for field in dataclasses.fields(kind)]
    for key in values:
        if key not in known:
            raise ValueError(_unknown(key, known, prefix, everywhere))
    found: dict[str, Any] = {}
    for key, value in values.items():
        inner, optional = _options(hints[key])
        if optional and value == "none":  # TOML has no null
            found[key] = None
        elif key in choices and typing.get_origin(inner) is tuple:
            found[key] = _choose_all(choices[key], value, prefix + key, everywhere)
        elif key in choices:
            found[key] = _choose(choices[key], value, prefix + key, everywhere)
        elif dataclasses.is_dataclass(inner):
            if not isinstance(value, dict):
                raise ValueError(
                    f"{prefix}{key} = {value!r}: is a section with keys of its own: "
                    f"{', '.join(field.name for field in dataclasses.fields(inner))}"
                )
            section = f"{prefix}{key}."
            found[key] = _build(typing.cast(type, inner), value, section, everywhere)
        else:
            about = documentation(kind).get(key, "").split(". ")[0].rstrip(".")
            found[key] = _convert(inner, value, prefix + key, about, optional)
    _check_complete(kind, found, prefix)
    try:
        return kind(**found)
    except ValueError as error:
        raise ValueError(_located(str(error), kind, known, prefix)) from None


def _check_complete(kind: type, found: dict[str, Any], prefix: str) -> None:
    """Raises ValueError if a field without a default was not given."""
    no = dataclasses.MISSING
    for field in dataclasses.fields(kind):
        if field.default is no and field.default_factory is no and field.name not in found:
            about = documentation(kind).get(field.name, "").split(". ")[0].rstrip(".")
            where = f"[{prefix[:-1]}]" if prefix else "the top level"
            raise ValueError(f"{where} lacks the key {field.name} ({about})")


def _choose(choices: Choices, value: Any, name: str, everywhere: list[str]) -> Any:
    """A section as the class that it names."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} = {value!r}: is a section, with a key {choices.key}")
    rest = dict(value)
    chosen = rest.pop(choices.key, choices.default)
    if chosen is None:
        raise ValueError(
            f"[{name}] lacks the key {choices.key}: must be one of {', '.join(choices.classes)}"
        )
    check_choice(f"{name}.{choices.key}", chosen, choices.classes)
    make = choices.classes[chosen]
    if not dataclasses.is_dataclass(make):
        return _call(make, rest, f"{name}.")
    return _build(typing.cast(type, make), rest, f"{name}.", everywhere)


def _choose_all(choices: Choices, value: Any, name: str, everywhere: list[str]) -> Any:
    """A list of sections as what they name, in one tuple."""
    if not isinstance(value, list):
        raise ValueError(f"{name} = {value!r}: is a list of sections, each with a {choices.key}")
    found: list[Any] = []
    for i, section in enumerate(value):
        made = _choose(choices, section, f"{name}[{i}]", everywhere)
        found += made if isinstance(made, tuple) else [made]
    return tuple(found)


def _call(make: Callable[..., Any], values: dict[str, Any], prefix: str) -> Any:
    """What a function makes of simple values."""
    known = list(inspect.signature(make).parameters)
    for key in values:
        if key not in known:
            raise ValueError(_unknown(key, known, prefix, []))
    return make(**values)


def _unknown(key: str, known: list[str], prefix: str, everywhere: list[str]) -> str:
    near = [prefix + name for name in difflib.get_close_matches(key, known, 1, cutoff=0.6)]
    elsewhere = [name for name in everywhere if name.split(".")[-1] == key]
    near = near or [name for name in elsewhere if name != prefix + key]
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    where = f"[{prefix[:-1]}]" if prefix else "the top level"
    return f"unknown key {prefix}{key}: {hint}{where} knows {', '.join(known)}"


def _located(message: str, kind: type, known: list[str], prefix: str) -> str:
    """A class's complaint about one of its fields, with the key's full name."""
    section = prefix.rstrip(".").split(".")[-1]
    bare = re.sub(rf"^({kind.__name__}|{section})\.", "", message)
    if re.split(r"\W", bare, maxsplit=1)[0] in known:
        return prefix + bare
    return f"[{prefix[:-1]}] {message}" if prefix else message


def _options(hint: Any) -> tuple[Any, bool]:
    """The type inside ``type | None``, itself a union if there are several, and if None is in."""
    if not isinstance(hint, types.UnionType) and typing.get_origin(hint) is not typing.Union:
        return hint, False
    options = typing.get_args(hint)
    others = [option for option in options if option is not type(None)]
    return functools.reduce(operator.or_, others), len(others) < len(options)


def _convert(kind: Any, value: Any, key: str, about: str, optional: bool) -> Any:
    """A TOML value as what a field asks for."""
    if isinstance(kind, types.UnionType) and type(value) in typing.get_args(kind):
        return value
    simple = {Any: float, float: float, int: int, str: str, bool: bool}.get(kind)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if simple is float and number:
        return float(value)
    if kind is Any and isinstance(value, list) and _are_numbers(value):
        return value
    if simple is not None and type(value) is simple:
        return value
    if typing.get_origin(kind) is tuple and isinstance(value, list):
        inner = typing.get_args(kind)
        if inner[-1] is Ellipsis:
            inner = (inner[0],) * len(value)
        if len(inner) == len(value):
            pairs = zip(inner, value, strict=True)
            return tuple(
                _convert(k, x, f"{key}[{i}]", about, False) for i, (k, x) in enumerate(pairs)
            )
    allowed = _name(kind) + (' or "none"' if optional else "")
    raise ValueError(f"{key} = {value!r}: must be {allowed}" + (f" ({about})" if about else ""))


def _are_numbers(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_are_numbers, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _name(kind: Any) -> str:
    if isinstance(kind, types.UnionType):
        return " or ".join(map(_name, typing.get_args(kind)))
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)
        if inner[-1] is Ellipsis:
            return f"a list, each {_name(inner[0])}"
        return f"a list of {len(inner)}, each {_name(inner[0])}"
    names = {float: "a number", Any: "a number", int: "a whole number", bool: "true or false"}
    return names.get(kind, "a text")
