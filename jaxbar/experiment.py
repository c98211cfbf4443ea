"""The main job: a network trained, mapped onto tiles, and trained again through their wires."""

import contextlib
import dataclasses
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jax.typing import ArrayLike

from . import crossbar, data, plots, tile
from .circuit import Solution
from .nn import ConvergenceWarning, Linear, Written, patch_model, program, tune, written
from .report import Report
from .settings import RunSettings, TrainingSettings
from .training import MLP, accuracy, fit

# Called with what is being done, how many steps are done, and of how many.
Progress = Callable[[str, int, int], None]

# The stages, in order, as tables and plots name them.
STAGES = {
    "digital": "digital",
    "mapped": "mapped onto tiles",
    "retrained": "trained through the wires",
}


def run(settings: RunSettings, progress: Progress | None = None, draw: bool = True) -> dict:
    """Digital training, mapping and calibration, training through the exact tiles.

    Each is evaluated on the test images, the mapped network before its calibration too
    ("uncalibrated"); of its calibrated outputs the error is reported too ("output_error",
    root mean square relative to the digital outputs). Written into ``settings.output``:
    ``report.json`` after every stage, so that it can be read at any time and after an
    interruption, and at the end the plots ``accuracy.png`` and ``voltages.png``. The same
    settings give the same numbers on the same machine.

    Args:
        settings: see `RunSettings`.
        progress: called with (what, done, total) as the run goes on.
        draw: whether to draw the plots; without matplotlib none are drawn.

    Returns:
        The content of the report.

    Raises:
        ModuleNotFoundError, FileNotFoundError, ValueError: the images cannot be had, see
            `data.load`.
    """
    folder = Path(settings.output)
    report = Report(folder / "report.json", settings, data={}, plots=[])
    try:
        analog = _stages(settings, report, progress or (lambda what, done, total: None))
        if draw and plots.available():
            report.update(plots=_draw(folder, report.content["stages"], analog))
    except BaseException as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        report.update(status="interrupted" if interrupted else "failed")
        raise
    report.update(status="done")
    return report.content


def _stages(settings: RunSettings, report: Report, progress: Progress) -> Any:
    """Runs and reports the stages; returns the retrained network on tiles."""
    chosen = settings.data
    images = data.load(**dataclasses.asdict(chosen))
    x, y = images.x_train, images.y_train
    labels = 1 + int(max(y.max(), images.y_test.max()))
    classes = max(labels, chosen.classes) if chosen.name == "random" else labels
    report.update(data={"train": len(x), "test": len(images.x_test), "features": x.shape[1]})
    keys = jax.random.split(jax.random.key(settings.seed), 5)
    weights, digital_order, analog_order, writing, noise = keys
    tuned_on: ArrayLike = x[: settings.tune_images]
    if settings.tune_on == "random":
        tuned_on = jax.random.uniform(noise, (settings.tune_images, x.shape[1]))

    def train(what: str, model: Any, how: TrainingSettings, key: Array) -> list[float]:
        progress(what, 0, 1)
        return fit(
            model,
            x,
            y,
            key=key,
            epochs=how.epochs,
            batch_size=how.batch_size,
            learning_rate=how.learning_rate,
            progress=lambda done, total: progress(what, done, total),
        )

    def deployed(model: Any) -> Any:
        """Written into the cells, if that changes them or saves solves for each test image."""
        return program(model, writing) if _is_worth_it(model, len(images.x_test)) else model

    def described(found: dict[str, Any], model: Any) -> None:
        """Adds how the cells were written, if they are not simply at their targets."""
        if settings.crossbar.is_written:
            found["written"] = {name: _numbers(layer) for name, layer in written(model).items()}

    def tested(model: Any) -> float:
        return accuracy(model, images.x_test, images.y_test)

    with _stage(report, "digital") as found:
        digital = MLP(x.shape[1], *settings.model.hidden, classes, rngs=nnx.Rngs(weights))
        losses = train("train digitally", digital, settings.training, digital_order)
        found["accuracy"] = tested(digital)
        found["losses"] = losses

    with _stage(report, "mapped") as found:
        progress("map and calibrate", 0, 1)
        analog = patch_model(digital, settings.crossbar)
        found["uncalibrated"] = tested(deployed(analog))
        tune(analog, tuned_on)
        chip = deployed(analog)
        found["accuracy"] = tested(chip)
        found["output_error"] = output_error(digital, chip, images.x_test)
        described(found, chip)
        progress("map and calibrate", 1, 1)

    if not settings.retraining.epochs:
        return analog
    with _stage(report, "retrained") as found:
        losses = train("train through the wires", analog, settings.retraining, analog_order)
        tune(analog, tuned_on)
        chip = deployed(analog)
        found["accuracy"] = tested(chip)
        found["losses"] = losses
        described(found, chip)
    return analog


def _is_worth_it(model: Any, inputs: int) -> bool:
    """Whether writing changes a model, or takes fewer solves than so many inputs do."""
    layers = [node for _, node in nnx.iter_graph(model) if isinstance(node, Linear)]
    return all(
        layer.config.is_written
        or crossbar.matrix_is_cheaper(inputs, layer.kernel.shape, layer.config)
        for layer in layers
    )


def _numbers(layer: Written) -> dict[str, float | int | None]:
    """What JSON can hold, of a layer that was written; None for what there is none of."""
    numbers = {name: getattr(layer, name) for name in Written.__dataclass_fields__}
    return {
        name: None if x is None or not np.isfinite(x) else np.asarray(x).item()
        for name, x in numbers.items()
    }


def sizes(settings: RunSettings) -> tuple[int, ...]:
    """Features of the network's input, of each hidden layer and of its output.

    Known without the data; "mnist" stands for IDX files of 28×28 pixels and ten labels.
    """
    chosen = settings.data
    sides = {"digits": 8, "mnist5k": 28, "mnist": 28}
    if chosen.name == "random":
        return chosen.features, *settings.model.hidden, chosen.classes
    return (chosen.pixels or sides[chosen.name]) ** 2, *settings.model.hidden, 10


def output_error(digital: Any, analog: Any, x: np.ndarray) -> float:
    """Root mean square of the outputs' difference relative to that of the digital outputs."""
    exact = np.asarray(digital(x), np.float64)
    difference = np.asarray(analog(x), np.float64) - exact
    return float(np.sqrt(np.mean(difference**2) / np.mean(exact**2)))


@contextlib.contextmanager
def _stage(report: Report, name: str) -> Iterator[dict[str, Any]]:
    """Reports what a stage found, its seconds, and whether every solve in it converged."""
    found: dict[str, Any] = {}
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield found
        jax.effects_barrier()  # warnings of compiled code come by callback
    unsolved = {str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)}
    found["seconds"] = round(time.perf_counter() - start, 3)
    found["converged"] = not unsolved
    report.add(name, **found)
    for text in sorted(unsolved):
        warnings.warn(f"{name}: {text}", ConvergenceWarning, stacklevel=3)
    for w in caught:
        if str(w.message) not in unsolved:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def first_tile(model: Any) -> tuple[Solution, float]:
    """The first tile of a model's first crossbar layer, and the v_max on all its word lines."""
    layers = [node for _, node in nnx.iter_graph(model) if isinstance(node, Linear)]
    layer = min(layers, key=lambda layer: layer.path)
    config = layer.config
    g = crossbar.write(layer.weights(), config)[0][0, 0, 0]
    drive = float(config.v_max)
    return tile.solved(g, jnp.full(g.shape[0], drive, g.dtype), config), drive


def _draw(folder: Path, stages: dict[str, Any], model: Any) -> list[str]:
    """Draws the plots and returns their names."""
    accuracies = {STAGES[name]: stage["accuracy"] for name, stage in stages.items()}
    solution, drive = first_tile(model)
    figures = {
        "accuracy.png": plots.accuracy_bars(accuracies),
        "voltages.png": plots.voltage_map(solution.cell_voltages, drive),
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=150)
    return list(figures)
