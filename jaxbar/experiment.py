"""The main job: a network trained, mapped onto tiles, and trained again through their wires."""

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flax import nnx
from jax import Array

from . import crossbar, data, plots
from .circuit import Solution, Wires, solve
from .nn import ConvergenceWarning, Linear, patch_model, program, tune
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
    ("uncalibrated"). Written into ``settings.output``: ``report.json``
    after every stage, so that it can be read at any time and after an interruption, and at
    the end the plots ``accuracy.png`` and ``voltages.png``. The same settings give the same
    numbers on the same machine.

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
    images = data.load(
        chosen.name, path=chosen.path, test_fraction=chosen.test_fraction, limit=chosen.limit
    )
    x, y = images.x_train, images.y_train
    classes = 1 + int(max(y.max(), images.y_test.max()))
    report.update(data={"train": len(x), "test": len(images.x_test), "features": x.shape[1]})
    weights, digital_order, analog_order, writing = jax.random.split(
        jax.random.key(settings.seed), 4
    )

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

    def deployed_accuracy(model: Any) -> float:
        """Calibrated, written into the cells, and tested."""
        tune(model, x[: settings.tune_images])
        return accuracy(program(model, writing), images.x_test, images.y_test)

    with _stage(report, "digital") as found:
        digital = MLP(x.shape[1], *settings.model.hidden, classes, rngs=nnx.Rngs(weights))
        losses = train("train digitally", digital, settings.training, digital_order)
        found["accuracy"] = accuracy(digital, images.x_test, images.y_test)
        found["losses"] = losses

    with _stage(report, "mapped") as found:
        progress("map and calibrate", 0, 1)
        analog = patch_model(digital, settings.crossbar)
        raw = program(analog, writing)
        found["uncalibrated"] = accuracy(raw, images.x_test, images.y_test)
        found["accuracy"] = deployed_accuracy(analog)
        progress("map and calibrate", 1, 1)

    with _stage(report, "retrained") as found:
        losses = train("train through the wires", analog, settings.retraining, analog_order)
        found["accuracy"] = deployed_accuracy(analog)
        found["losses"] = losses
    return analog


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
    wires = Wires() if config.wires is None else config.wires
    drive = float(config.v_max)
    return solve(g, np.full(g.shape[0], drive, g.dtype), wires, solver=config.solver), drive


def _draw(folder: Path, stages: dict[str, Any], model: Any) -> list[str]:
    """Draws the plots and returns their names."""
    accuracies = {STAGES[name]: stage["accuracy"] for name, stage in stages.items()}
    tile, drive = first_tile(model)
    figures = {
        "accuracy.png": plots.accuracy_bars(accuracies),
        "voltages.png": plots.voltage_map(tile.cell_voltages, drive),
    }
    for name, figure in figures.items():
        figure.savefig(folder / name, dpi=150)
    return list(figures)
