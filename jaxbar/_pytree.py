"""Dataclasses as pytrees."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import jax


def register[T](*data: str) -> Callable[[type[T]], type[T]]:
    """A decorator: the dataclass is a pytree with the named fields as children, all else static.

    Unlike `jax.tree_util.register_dataclass`, rebuilding a tree does not validate again: a
    gradient is not bound by what its quantity is bound by, and jax fills trees with
    placeholders.
    """

    def decorate(kind: type[T]) -> type[T]:
        meta = [f.name for f in dataclasses.fields(kind) if f.name not in data]  # type: ignore[arg-type]

        def flatten(x: T) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            return tuple(getattr(x, n) for n in data), tuple(getattr(x, n) for n in meta)

        def flatten_with_keys(x: T) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            children, static = flatten(x)
            keys = map(jax.tree_util.GetAttrKey, data)
            return tuple(zip(keys, children, strict=True)), static

        def unflatten(static: tuple[Any, ...], children: Iterable[Any]) -> T:
            new = object.__new__(kind)
            for name, value in (*zip(data, children, strict=True), *zip(meta, static, strict=True)):
                object.__setattr__(new, name, value)
            return new

        jax.tree_util.register_pytree_with_keys(kind, flatten_with_keys, unflatten, flatten)
        return kind

    return decorate
