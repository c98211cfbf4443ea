"""Cells that are stuck."""

import dataclasses
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from .._check import check_number, concrete
from .._pytree import register
from .base import Kind, NonIdeality, check_leaf, check_shape

HEALTHY, ON, OFF, UNFORMED = 0, 1, 2, 3


@register("size", "radius")
@dataclasses.dataclass(frozen=True)
class Clusters:
    """Faults come in clusters: the center–satellite model of wafer defects.

    Of Meyer and Pradhan, IEEE Trans. Computers 38 (1989): centers lie anywhere, and the faults
    of each around it, here with a normal distribution in both directions (a Thomas process).
    The number of faults is given; that of the centers is this number over the size. A cell
    is chosen with a weight Σ exp(−d²/2·radius²) over the centers of its tile, d in cells,
    and once at most.

    Args:
        size: faults per cluster on average, ≥ 1; default 8.
        radius: standard deviation of the distance along each axis in cells, > 0; default 1.5.
    """

    size: Any = 8.0
    radius: Any = 1.5

    def __post_init__(self) -> None:
        check_number("Clusters.size", self.size, lambda x: x >= 1, "must be ≥ 1 fault a cluster")
        check_leaf("Clusters.radius", self.radius, "> 0", "cells")

    def scores(self, key: Array, faults: Array, used: Array, dtype: Any) -> Array:
        """One number a cell; those with the lowest are the faulty ones."""
        center_key, cell_key = jax.random.split(key)
        centers = jnp.maximum(jnp.round(faults / self.size), 1.0)
        places = _lowest(jax.random.uniform(center_key, used.shape, dtype), used) < centers
        # Tiles are separate arrays: a cluster ends at the edge of its own.
        m, n = used.shape[-2:]
        weight = _bell(m, self.radius, dtype) @ places.astype(dtype)
        weight = weight @ _bell(n, self.radius, dtype)
        weight = jnp.maximum(weight, jnp.finfo(dtype).tiny)
        # The lowest of these are a sample without replacement by weight (the Gumbel trick).
        return -jnp.log(weight) - jax.random.gumbel(cell_key, used.shape, dtype)


@register("on", "off", "unformed", "g_unformed", "clusters")
@dataclasses.dataclass(frozen=True, eq=False)
class StuckFaults(NonIdeality):
    """Fractions of the used cells that are stuck at g_on, at g_off, or were never formed.

    Of n used cells, counted over all tiles of g, round(fraction·n) of each are chosen at random,
    each cell once at most; padding is neither counted nor touched. The gradient at a stuck cell
    is 0.

    Args:
        on: fraction stuck at g_on, in [0, 1]; default 0.
        off: fraction stuck at g_off; default 0.
        unformed: fraction never formed; default 0. The three sum to 1 at most.
        g_unformed: siemens of a cell that was never formed, ≥ 0; default 0, open.
        clusters: `Clusters`; None (default): cells fail independently of each other.

    Raises:
        ValueError: a fraction is outside [0, 1], or they sum to more than 1.
    """

    on: Any = 0.0
    off: Any = 0.0
    unformed: Any = 0.0
    g_unformed: Any = 0.0
    clusters: Clusters | None = None
    kind: ClassVar[Kind] = Kind.FAULTS

    def __post_init__(self) -> None:
        names = ("on", "off", "unformed")
        for name in names:
            allowed = "must be a fraction in [0, 1]"
            value = getattr(self, name)
            check_number(f"StuckFaults.{name}", value, lambda x: (x >= 0) & (x <= 1), allowed)
        known = [concrete(getattr(self, name)) for name in names]
        if all(x is not None for x in known):
            total = sum(np.asarray(x, float) for x in known)
            if np.any(total > 1 + 1e-6):
                raise ValueError(
                    f"StuckFaults.on = {known[0]}, off = {known[1]} and unformed = {known[2]} sum "
                    f"to {total}: must be 1 at most"
                )
        check_leaf("StuckFaults.g_unformed", self.g_unformed, "≥ 0", "siemens")
        if not isinstance(self.clusters, Clusters | None):
            raise ValueError(f"StuckFaults.clusters = {self.clusters!r}: must be Clusters or None")

    def draw(self, key: Array, used: Array, dtype: Any = None) -> Array:
        """The map of a chip: HEALTHY, ON, OFF or UNFORMED for each cell, as of `FaultMap`."""
        dtype = dtype or jnp.result_type(float)
        where_key, what_key = jax.random.split(key)
        fractions = jnp.stack([jnp.asarray(x, dtype) for x in (self.on, self.off, self.unformed)])
        counts = jnp.round(fractions * jnp.sum(used)).astype(jnp.int32)
        total = jnp.sum(counts)
        if self.clusters is None:
            scores = jax.random.uniform(where_key, used.shape, dtype)
        else:
            scores = self.clusters.scores(where_key, total, used, dtype)
        faulty = (_lowest(scores, used) < total) & used
        # A second draw says which is which, or clusters would have the same kind inside.
        rank = _lowest(jax.random.uniform(what_key, used.shape, dtype), faulty)
        edges = jnp.cumsum(counts)
        code = jnp.where(rank < edges[0], ON, jnp.where(rank < edges[1], OFF, UNFORMED))
        return jnp.where(faulty, code, HEALTHY).astype(jnp.int8)

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        return _stuck(g, self.draw(key, used, g.dtype), g_off, g_on, self.g_unformed)


@register("codes", "g_unformed")
@dataclasses.dataclass(frozen=True, eq=False)
class FaultMap(NonIdeality):
    """An explicit map of stuck cells, such as a measured one.

    Args:
        codes: 0 (`HEALTHY`), 1 (`ON`), 2 (`OFF`) or 3 (`UNFORMED`) for each cell, broadcast to g.
        g_unformed: siemens of a cell that was never formed, ≥ 0; default 0, open.

    Raises:
        ValueError: another code, or a shape that does not broadcast to that of g.
    """

    codes: Any
    g_unformed: Any = 0.0
    kind: ClassVar[Kind] = Kind.FAULTS

    def __post_init__(self) -> None:
        if isinstance(self.codes, list | tuple):
            object.__setattr__(self, "codes", np.asarray(self.codes))
        allowed = "must be 0 (healthy), 1 (on), 2 (off) or 3 (unformed)"
        check_number("FaultMap.codes", self.codes, lambda x: np.isin(x, (0, 1, 2, 3)), allowed)
        check_leaf("FaultMap.g_unformed", self.g_unformed, "≥ 0", "siemens")

    @property
    def random(self) -> bool:
        return False

    def _change(
        self, g: Array, target: Array, key: Any, used: Array, g_off: Array, g_on: Array
    ) -> Array:
        check_shape("FaultMap.codes", np.shape(self.codes), g.shape)
        return _stuck(g, self.codes, g_off, g_on, self.g_unformed)


def _stuck(g: Array, codes: Array, g_off: Array, g_on: Array, g_unformed: Array) -> Array:
    """Conductances with the faults of a map."""
    for code, value in ((ON, g_on), (OFF, g_off), (UNFORMED, g_unformed)):
        g = jnp.where(codes == code, value, g)
    return g


def _lowest(scores: Array, among: Array) -> Array:
    """Each cell's place, from 0, in the order of scores; cells not among come last."""
    flat = jnp.where(among, scores, jnp.inf).ravel()
    order = jnp.argsort(flat)
    places = jnp.zeros(flat.size, jnp.int32).at[order].set(jnp.arange(flat.size, dtype=jnp.int32))
    return places.reshape(among.shape)


def _bell(n: int, radius: Array, dtype: Any) -> Array:
    """(n, n) of exp(−(i − k)²/2·radius²)."""
    i = jnp.arange(n, dtype=dtype)
    return jnp.exp(-0.5 * ((i[:, None] - i) / radius) ** 2)
