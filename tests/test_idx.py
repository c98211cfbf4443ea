"""IDX files: what is read, what is refused."""

import gzip
import struct

import numpy as np
import pytest

from jaxbar.idx import find_idx, read_idx


def idx_bytes(array):
    """The bytes of an IDX file of uint8."""
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


IMAGES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("name", ["a-ubyte", "a-ubyte.gz"])
@pytest.mark.parametrize("array", [IMAGES, np.asarray([7, 255, 0], np.uint8)])
def test_round_trip(tmp_path, name, array):
    content = idx_bytes(array)
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    found = read_idx(path)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x01" + idx_bytes(IMAGES)[1:], "not an IDX file of bytes: it starts with 01 00 08 03"),
        (b"\x00\x00\x0d\x01\x00\x00\x00\x00", "it starts with 00 00 0d 01"),  # floats
        (b"", "not an IDX file"),
        (idx_bytes(IMAGES)[:10], "cut short inside its header"),
        (idx_bytes(IMAGES)[:-1], r"its header says \(2, 3, 4\), 24 bytes, but 23 follow"),
        (idx_bytes(IMAGES) + b"\x00", "but 25 follow"),
    ],
)
def test_damaged(tmp_path, content, message):
    path = tmp_path / "x-ubyte"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_idx(path)


def test_damaged_gzip(tmp_path):
    packed = gzip.compress(idx_bytes(IMAGES))
    flipped = bytearray(packed)
    flipped[12] ^= 0xFF
    for content in (b"not gzip at all", packed[:-12], bytes(flipped)):
        path = tmp_path / "x-ubyte.gz"
        path.write_bytes(content)
        with pytest.raises(ValueError, match="damaged gzip file"):
            read_idx(path)


def test_find_prefers_what_is_there(tmp_path):
    images = tmp_path / "t10k-images.idx3-ubyte"
    labels = tmp_path / "t10k-labels-idx1-ubyte.gz"
    images.touch()
    labels.touch()
    assert find_idx(tmp_path, ["t10k"]) == [(images, labels)]
    (tmp_path / "t10k-images-idx3-ubyte.gz").touch()
    plain = tmp_path / "t10k-labels-idx1-ubyte"
    plain.touch()  # of two copies one is read, and the plain one first
    assert find_idx(tmp_path, ["t10k"]) == [(tmp_path / "t10k-images-idx3-ubyte.gz", plain)]


def test_find_names_all_that_is_missing(tmp_path):
    (tmp_path / "train-images-idx3-ubyte").touch()
    with pytest.raises(FileNotFoundError) as caught:
        find_idx(tmp_path, ["train", "t10k"])
    message = str(caught.value)
    assert "train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte" in message
    assert "train-images" not in message
