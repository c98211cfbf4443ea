"""Other programs that solve the same tiles, in float64: SuperLU, klujax and badcrossbar.

Each function prepares the work and returns the call to time, which factorises, solves and
takes the currents from the node voltages. All four wires of a tile are r ohm. T tiles of
(n, n), B inputs each.
"""

import concurrent.futures
import functools
import importlib.util
import logging
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# SuperLU solves this many inputs at a time: more are no faster, and take memory.
_AT_ONCE = 64
# badcrossbar makes every node's equation in Python.
_BADCROSSBAR_CELLS = 128**2
# klujax keeps for a derivative this many values of each nonzero and input, in float64.
_KLUJAX_VALUES = 5e8

Forward = Callable[[], np.ndarray]
Prepare = Callable[[], Forward | None]


@functools.cache
def pattern(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the entries of a nodal matrix (2n², 2n²), each once, int32."""
    word, bit = np.arange(2 * n * n, dtype=np.int32).reshape(2, n, n)
    a = np.concatenate([word[:, :-1].ravel(), bit[:-1].ravel()])
    b = np.concatenate([word[:, 1:].ravel(), bit[1:].ravel()])
    word, bit = word.ravel(), bit.ravel()
    return np.concatenate([a, b, word, bit, word, bit]), np.concatenate(
        [b, a, bit, word, word, bit]
    )


def entries(g: Any, r: float, xp: Any = np) -> Any:
    """The entries at `pattern` of a tile (n, n): wires, cells, word diagonal, bit diagonal."""
    n = g.shape[0]
    # Two segments end in each node but for the last of a word and the first of a bit line.
    word, bit = np.full((2, n, n), 2 / r)
    word[:, -1] = bit[0] = 1 / r
    wires = np.full(4 * n * (n - 1), -1 / r)
    return xp.concatenate([wires, -g.ravel(), -g.ravel(), (g + word).ravel(), (g + bit).ravel()])


def superlu(g: np.ndarray, v: np.ndarray, r: float) -> Forward:
    """Currents (T, B, n) in ampere of tiles g (T, n, n) for drives v (T, B, n)."""
    matrices = [_matrix(tile, r) for tile in g]

    def tile(matrix, v):
        factor = _splu(matrix)
        return np.concatenate([_voltages(factor, x, r)[:, 1, -1] / r for x in _batches(v)])

    def call():
        return np.stack([tile(*each) for each in zip(matrices, v, strict=True)])

    return call


def superlu_gradient(g: np.ndarray, v: np.ndarray, r: float) -> Forward:
    """The derivative (n, n) of Σ currents² of one tile by g, from the adjoint node voltages."""
    n, matrix = len(g), _matrix(g, r)

    def call():
        factor, found = _splu(matrix), np.zeros((n, n))
        for x in _batches(v):
            nodes = _voltages(factor, x, r)
            # Σ (bit/r)² has the derivative 2·bit/r² by the last node of each bit line.
            seed = np.zeros((2, n, n, len(x)))
            seed[1, -1] = 2 * nodes[:, 1, -1].T / r**2
            adjoint = factor.solve(seed.reshape(-1, len(x)), trans="T")
            adjoint = adjoint.T.reshape(nodes.shape)
            drops, adjoint_drops = (y[:, 0] - y[:, 1] for y in (nodes, adjoint))
            found -= np.einsum("bij,bij->ij", drops, adjoint_drops)
        return found

    return call


def _matrix(g: np.ndarray, r: float) -> Any:
    import scipy.sparse

    return scipy.sparse.csc_matrix((entries(g, r), pattern(len(g))))


def _splu(matrix: Any) -> Any:
    import scipy.sparse.linalg

    return scipy.sparse.linalg.splu(matrix)


def _batches(v: np.ndarray) -> list[np.ndarray]:
    return [v[k : k + _AT_ONCE] for k in range(0, len(v), _AT_ONCE)]


def _voltages(factor: Any, v: np.ndarray, r: float) -> np.ndarray:
    """Voltages (B, 2, n, n) of the word and bit nodes."""
    inputs, n = v.shape
    drive = np.zeros((2, n, n, inputs))
    drive[0, :, 0] = v.T / r
    return factor.solve(drive.reshape(-1, inputs)).T.reshape(inputs, 2, n, n)


@functools.cache
def _klujax() -> Any:
    """klujax, without what it does on import: 64-bit mode and the CPU for everything.

    In another thread, which sees the settings of the process and no context of this one.
    """
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(_import_klujax).result()


def _import_klujax() -> Any:
    names = ("jax_enable_x64", "jax_platform_name")
    before = {name: jax.config.read(name) for name in names}
    jax.devices()  # found before it hides those that are no CPU
    try:
        import klujax
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
    return klujax


def klujax(g: np.ndarray, v: np.ndarray, r: float) -> Forward:
    """As `superlu`."""

    def call(compiled, values):
        return np.stack([np.asarray(compiled(*each)) for each in zip(*values, strict=True)])

    return _compiled(functools.partial(_klujax_currents, r), call, (g, v), (g[0], v[0]))


def klujax_gradient(g: np.ndarray, v: np.ndarray, r: float) -> Forward | None:
    """As `superlu_gradient`, by `jax.grad`; None: it would take too much memory."""
    if len(pattern(len(g))[0]) * len(v) > _KLUJAX_VALUES:
        return None
    gradient = jax.grad(lambda g, v: jnp.sum(_klujax_currents(r, g, v) ** 2))
    return _compiled(gradient, lambda f, values: np.asarray(f(*values)), (g, v), (g, v))


def _klujax_currents(r: float, g: jax.Array, v: jax.Array) -> jax.Array:
    inputs, n = v.shape
    rows, columns = pattern(n)
    drive = jnp.zeros((2, n, n, inputs)).at[0, :, 0].set(v.T / r).reshape(-1, inputs)
    nodes = _klujax().solve(rows, columns, entries(g, r, jnp), drive)
    return nodes.reshape(2, n, n, inputs)[1, -1].T / r


def _compiled(f: Callable[..., Any], call: Any, values: Any, example: Any) -> Forward:
    """``call(f compiled for the example, values)`` in 64-bit mode on the CPU."""
    _klujax()
    cpu = jax.devices("cpu")[0]
    with jax.enable_x64(True), jax.default_device(cpu):
        compiled = jax.jit(f).lower(*example).compile()

    def run():
        with jax.enable_x64(True), jax.default_device(cpu):
            return call(compiled, values)

    return run


@functools.cache
def _badcrossbar() -> Any:
    """badcrossbar's `compute`, without its warnings and its log on standard output, or None."""
    if not importlib.util.find_spec("badcrossbar"):
        return None
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    with warnings.catch_warnings(record=True):  # it sets filters of its own: "ignore" would not do
        try:
            import badcrossbar
        except ImportError:
            return None
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)
    logging.getLogger("badcrossbar").setLevel(logging.WARNING)
    found = getattr(badcrossbar, "compute", None)  # absent where a package it needs is
    return found if callable(found) else None


def badcrossbar(g: np.ndarray, v: np.ndarray, r: float) -> Forward | None:
    """As `superlu`, up to 128×128 cells; None beyond, and where it cannot be imported."""
    compute = _badcrossbar()
    if compute is None or g[0].size > _BADCROSSBAR_CELLS:
        return None

    def tile(g, v):
        found = compute(v.T, 1 / g, r, node_voltages=False, all_currents=False)
        return found.currents.output

    def call():
        return np.stack([tile(*each) for each in zip(g, v, strict=True)])

    return call


def forward(g: np.ndarray, v: np.ndarray, r: float) -> dict[str, Prepare]:
    """By name, what prepares each peer that is installed for `superlu`'s work."""
    found = {"superlu": superlu, "klujax": klujax, "badcrossbar": badcrossbar}
    return {
        name: functools.partial(prepare, g, v, r)
        for name, prepare in found.items()
        if name == "superlu" or importlib.util.find_spec(name)
    }


def gradient(g: np.ndarray, v: np.ndarray, r: float) -> dict[str, Prepare]:
    """By name, what prepares each peer that is installed for `superlu_gradient`'s work."""
    found: dict[str, Prepare] = {"superlu": functools.partial(superlu_gradient, g, v, r)}
    if importlib.util.find_spec("klujax"):
        found["klujax"] = functools.partial(klujax_gradient, g, v, r)
    return found
