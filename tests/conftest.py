import gc

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


@pytest.fixture(autouse=True, scope="module")
def _forget_compiled_programs():
    """Each keeps memory maps, and a process that holds them of all tests runs out of maps."""
    yield
    jax.clear_caches()
    gc.collect()
