"""A dense layer whose weights are the cells of crossbar tiles."""

import contextlib
import dataclasses
import math
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jax.typing import ArrayLike

from .. import chip, crossbar, nonideal
from .._check import real_dtype
from ..config import CrossbarConfig


class Physical(nnx.Variable):
    """A layer's `CrossbarConfig`; its leaves are the wires, resistances and voltage."""


class Calibrated(nnx.Variable):
    """A layer's `Calibration`, set by `tune`."""


class Programmed(nnx.Variable):
    """What `program` has written: conductances and the matrices they make."""


# Set by `tune` and `power`: called with a layer and its inputs (B, K) in place of the product;
# gives (B, L).
observer: ContextVar[Callable[[Any, Array], Array] | None] = ContextVar("observer", default=None)


class Linear(nnx.Module):
    """y = x·kernel + bias with the product done by crossbar tiles, differentiably.

    The weights are ordinary `nnx.Param`s: what an optimizer does to them takes effect at
    once. The bias is added digitally. Each input of a batch is computed for itself: its
    output does not depend on the others.

    Args:
        in_features: K.
        out_features: L.
        config: the crossbar.
        rngs: keys for the initial weights; not needed with `digital`.
        use_bias: whether a bias is added; default True.
        digital: a layer whose weights are taken, the same variables, in place of new ones.
        path: the layer's name in messages.
        **kwargs: what `nnx.Linear` takes: kernel_init, bias_init, dtype, param_dtype.

    Attributes:
        kernel: weights (K, L), a Param.
        bias: (L,), a Param, or None.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        config: CrossbarConfig,
        *,
        rngs: nnx.Rngs | None = None,
        use_bias: bool = True,
        digital: "nnx.Linear | Linear | None" = None,
        path: str = "Linear",
        **kwargs: Any,
    ):
        if not isinstance(config, CrossbarConfig):
            raise ValueError(f"config = {config!r}: must be a jaxbar.CrossbarConfig")
        if digital is None:
            if rngs is None:
                raise ValueError("rngs = None: new weights need keys, such as nnx.Rngs(0)")
            digital = nnx.Linear(in_features, out_features, rngs=rngs, use_bias=use_bias, **kwargs)
        self.in_features, self.out_features = in_features, out_features
        self.kernel: nnx.Param = digital.kernel
        self.bias: nnx.Param | None = digital.bias
        self.dtype: Any = digital.dtype
        self.path = path
        number = real_dtype(self.kernel[...])
        config = jax.tree.map(lambda x: jnp.asarray(x, number), config)
        self.physical = Physical(config)
        self.calibrated = Calibrated(
            crossbar.default_calibration((in_features, out_features), config, number)
        )

    @classmethod
    def from_digital(
        cls, layer: "nnx.Linear | Linear", config: CrossbarConfig, path: str = "Linear"
    ) -> "Linear":
        """The weights of a layer (the same variables) on a crossbar, not yet calibrated."""
        inputs, outputs = layer.kernel.shape
        return cls(inputs, outputs, config, digital=layer, path=path)

    @property
    def config(self) -> CrossbarConfig:
        """The crossbar in force."""
        return self.physical.get_value()

    @property
    def calibration(self) -> crossbar.Calibration:
        """The calibration in force."""
        return self.calibrated.get_value()

    def weights(self) -> Array:
        """The kernel (K, L) in the precision of the circuit, float32 at least."""
        kernel = self.kernel[...]
        return kernel.astype(real_dtype(kernel))

    def reconfigure(self, **changes: Any) -> None:
        """Changes fields of the configuration, in place; see `jaxbar.reconfigure`."""
        config = self.config.replace(**changes)
        shape = (self.in_features, self.out_features)
        default = crossbar.default_calibration(shape, config, real_dtype(self.kernel[...]))
        kept = self.calibration
        if "input_scale" in changes:
            kept = dataclasses.replace(kept, input_scale=default.input_scale)
        if "adc" in changes and config.adc.range is not None:
            kept = dataclasses.replace(kept, adc_range=default.adc_range)
        default = dataclasses.replace(default, tuned=kept.tuned)
        self.physical.set_value(config)
        self.calibrated.set_value(
            jax.tree.map(lambda old, new: jnp.where(kept.tuned, old, new), kept, default)
        )

    def calibrate(self, x: Array) -> Array:
        """Replaces the calibration by the one that inputs (B, K), B ≥ 1, call for.

        Returns:
            The calibrated layer's outputs (B, L) without the bias.
        """
        if not x.shape[0]:
            raise ValueError(f"{self.path}: x holds no inputs: calibration needs at least one")
        new, y, converged = crossbar.calibrate(x, self.weights(), self.config)
        warn_unconverged(converged, self.path)
        self.calibrated.set_value(new)
        return y

    def conductances(self) -> Array:
        """Of every cell (arrays, tiles down, tiles across, m, n), siemens."""
        return crossbar.write(self.weights(), self.config)[0]

    def product(self, x: Array) -> Array:
        """Outputs (B, L) of inputs (B, K), without the bias."""
        y, converged = crossbar.matmul(x, self.weights(), self.calibration, self.config)
        warn_unconverged(converged, self.path)
        return y

    def __call__(self, x: ArrayLike) -> Array:
        """Outputs (…, L) of inputs (…, K)."""
        rows = _rows(x, self.in_features, self.path)
        observe = observer.get()
        y = self.product(rows) if observe is None else observe(self, rows)
        return _finish(y, x, self.kernel.dtype, self.bias, self.dtype)


# The key of the reads of a pass, set by `reading`.
read_key: ContextVar[Array | None] = ContextVar("read_key", default=None)


class ProgrammedLinear(nnx.Module):
    """A `Linear` whose conductances are written.

    An evaluation is matrix products if the tiles are linear in their inputs, that is if their
    cells are ohmic and on word lines; others are solved for each input.

    Attributes:
        chip: `jaxbar.chip.Chip`, what was aimed at, what was written and what is there now.
        effective: the tiles as signed matrices (down, across, m', n'), siemens; None where they
            are not linear.
        factor: that undoes drift, see `CrossbarConfig.compensation`; None: none.
    """

    def __init__(self, layer: Linear, key: Array | None = None):
        target, largest = crossbar.write(layer.weights(), layer.config)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.path, self.dtype, self.bias = layer.path, layer.dtype, layer.bias
        self.param_dtype = layer.kernel.dtype
        self.physical, self.calibrated = layer.physical, layer.calibrated
        self.largest = Programmed(largest)
        new = chip.write(target, self.shape, layer.config, key)
        self.chip, (matrix, factor) = Programmed(new), self._read_out(new)
        self.effective = None if matrix is None else Programmed(matrix)
        self.factor = None if factor is None else Programmed(factor)

    def _read_out(self, new: chip.Chip) -> tuple[Array | None, Array | None]:
        """The matrices of a chip, and the factor of its drift."""
        matrix = self._matrices(new.conductance) if self.config.is_linear else None
        return matrix, chip.compensation(new, self.shape, self.config)

    def _matrices(self, g: Array) -> Array:
        matrix, converged = crossbar.effective(g, self.shape, self.config)
        warn_unconverged(converged, self.path)
        return matrix

    def age(self, time: ArrayLike) -> None:
        """Brings the conductances to a time in second after the write, in place."""
        config = self.config
        config = config.replace(nonideal=nonideal.at_time(config.nonideal, time))
        self.physical.set_value(config)
        new = chip.at_time(self.chip.get_value(), self.shape, config)
        self.chip.set_value(new)
        values = zip((self.effective, self.factor), self._read_out(new), strict=True)
        for variable, value in values:
            if variable is not None:
                variable.set_value(value)

    @property
    def shape(self) -> tuple[int, int]:
        """K, L."""
        return self.in_features, self.out_features

    @property
    def conductance(self) -> Array:
        """Of every cell (arrays, tiles down, tiles across, m, n), siemens."""
        return self.chip.get_value().conductance

    @property
    def config(self) -> CrossbarConfig:
        """The crossbar in force."""
        return self.physical.get_value()

    @property
    def calibration(self) -> crossbar.Calibration:
        """The calibration in force."""
        return self.calibrated.get_value()

    def conductances(self) -> Array:
        """Of every cell (arrays, tiles down, tiles across, m, n), siemens."""
        return self.conductance

    def product(self, x: Array) -> Array:
        """Outputs (B, L) of inputs (B, K), without the bias."""
        factor = None if self.factor is None else self.factor[...]
        how = self.out_features, self.largest[...], self.calibration, self.config, factor
        key, g, matrix = read_key.get(), self.conductance, self.effective
        w = None if matrix is None else matrix[...]
        if key is not None and chip.reads_differ(self.config):  # each layer has a key of its own
            key = jax.random.fold_in(key, zlib.crc32(self.path.encode()))
            g = chip.reading(self.chip.get_value(), self.shape, self.config, key)
            w = None if w is None else self._matrices(g)
        if w is not None:
            return crossbar.through_effective(x, w, *how)
        y, converged = crossbar.through_tiles(x, g, *how)
        warn_unconverged(converged, self.path)
        return y

    def __call__(self, x: ArrayLike) -> Array:
        """Outputs (…, L) of inputs (…, K)."""
        rows = _rows(x, self.in_features, self.path)
        observe = observer.get()
        y = self.product(rows) if observe is None else observe(self, rows)
        return _finish(y, x, self.param_dtype, self.bias, self.dtype)


@contextlib.contextmanager
def reading(key: Array) -> Iterator[None]:
    """Within it, programmed layers draw the noise of their reads, all passes from this key.

    ``with reading(key): model(x)``, inside a function that is compiled too. Without it, and of
    layers whose configuration has no read noise, reads are without noise.
    """
    token = read_key.set(key)
    try:
        yield
    finally:
        read_key.reset(token)


def _rows(x: ArrayLike, features: int, path: str) -> Array:
    """Inputs (…, K) as (B, K), float32 at least."""
    x = jnp.asarray(x)
    if x.ndim == 0 or x.shape[-1] != features:
        raise ValueError(f"{path}: x has shape {x.shape}, the layer takes (…, {features})")
    return x.reshape(math.prod(x.shape[:-1]), features).astype(real_dtype(x))


def _finish(y: Array, x: ArrayLike, param_dtype: Any, bias: nnx.Param | None, dtype: Any) -> Array:
    """Outputs (B, L) with the bias, in the shape and dtype that a digital layer gives."""
    y = y.reshape(*jnp.shape(x)[:-1], y.shape[-1])
    if dtype is None:
        dtype = jnp.result_type(x, param_dtype)
        dtype = dtype if jnp.issubdtype(dtype, jnp.inexact) else jnp.float32
    if bias is not None:
        y = y + bias[...]
    return y.astype(dtype)


class ConvergenceWarning(RuntimeWarning):
    """A layer's tiles were not solved to their tolerance."""


def warn_unconverged(converged: Array, path: str) -> None:
    """A `ConvergenceWarning`, also from compiled code, unless all solves converged."""

    def warn(converged: Array) -> None:
        if not converged:
            warnings.warn(
                f"{path}: a tile was not solved to its tolerance; raise Solver.max_iterations, or "
                "with ohmic cells use Solver(method='direct')",
                ConvergenceWarning,
                stacklevel=2,
            )

    if isinstance(converged, jax.core.Tracer):
        # Compiled code reaches the host only when a solve failed. Under vmap it always does,
        # once for each lane, so the flag goes along.
        jax.lax.cond(converged, lambda: None, lambda: jax.debug.callback(warn, converged))
    else:
        warn(converged)
