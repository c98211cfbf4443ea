import jax
import numpy as np
import pytest


@pytest.fixture
def x64():
    """Runs a test in 64-bit mode."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)
