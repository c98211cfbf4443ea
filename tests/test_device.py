"""Sizes as people write them, and the memory that is free."""

import jax
import numpy as np
import pytest

from jaxbar import _device
from jaxbar._device import format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (1, 1),
        ("1", 1),
        ("2GiB", 2 * 2**30),
        ("512 MiB", 512 * 2**20),
        ("1.5GB", 1_500_000_000),
        ("3kb", 3000),
        ("7Ki", 7168),
        (" 4g ", 4_000_000_000),
        ("1TiB", 2**40),
        (np.int64(5), 5),
    ],
)
def test_sizes(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", [0, -1, "", "GiB", "2 gigs", "-1GiB", "0MiB", 1.5, None, True])
def test_what_is_no_size(text):
    with pytest.raises(ValueError, match="must be a number of bytes"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**30, "1 GiB"), (5 * 2**40, "5 TiB")],
)
def test_sizes_are_shown(size, text):
    assert format_bytes(size) == text


def test_the_device_is_the_one_that_functions_run_on():
    assert _device.device() is jax.devices()[0]
    with jax.default_device(jax.devices("cpu")[0]):
        assert _device.platform() == "cpu"
    with jax.default_device("cpu"):
        assert _device.platform() == "cpu"


def test_a_control_group_limits_the_memory(tmp_path, monkeypatch):
    assert _device._group(tmp_path) == []
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("5\n")
    assert _device._group(tmp_path) == []
    (tmp_path / "memory.max").write_text("1000\n")
    assert _device._group(tmp_path) == [995]
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/memory.limit_in_bytes").write_text("400\n")
    (tmp_path / "memory/memory.usage_in_bytes").write_text("500\n")
    assert _device._group(tmp_path) == [995, 0]
    monkeypatch.setattr(_device, "_available", lambda: 700)
    monkeypatch.setattr(_device, "_group", lambda: [995])
    assert _device.free_bytes(jax.devices("cpu")[0]) == 700


def test_the_memory_of_this_machine():
    assert 2**20 < _device.free_bytes(jax.devices("cpu")[0]) < 2**50


def test_a_gpu_tells_what_is_left():
    class Gpu:
        platform = "gpu"

        def memory_stats(self):
            return {"bytes_limit": 1000, "bytes_in_use": 300}

    assert _device.free_bytes(Gpu()) == 700
