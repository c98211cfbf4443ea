"""Functions take turns, stop in time, and say what memory they take."""

import time
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbar.bench import clock, machine
from jaxbar.bench.clock import Runner


def race(**runners):
    order = []

    def logged(name, runner):
        def call():
            order.append(name)
            return runner.call()

        return Runner(call, runner.least, runner.most, runner.seconds, runner.every)

    times, values = clock.race({name: logged(name, r) for name, r in runners.items()})
    return "".join(order), times, values


def test_functions_take_turns_and_stop_at_their_most():
    order, times, values = race(
        a=Runner(lambda: 1, 2, 5, 60.0), b=Runner(lambda: 2, 1, 2, 60.0, every=2)
    )
    assert order == "abaabaa"
    assert {name: len(t) for name, t in times.items()} == {"a": 5, "b": 2}
    assert values == {"a": 1, "b": 2}


def test_a_slow_function_stops_after_its_least():
    order, _, _ = race(a=Runner(lambda: time.sleep(0.002), 2, 100, 0.0))
    assert order == "aa"


def test_spread_is_in_milliseconds():
    low, median, high = clock.spread([0.001 * k for k in range(1, 12)])
    assert (low, median, high) == pytest.approx((2.0, 6.0, 10.0))


def test_work_that_is_under_way_is_waited_for():
    f = jax.jit(lambda x: jnp.linalg.matrix_power(x, 200).sum())
    x = jnp.eye(300)
    f(x).block_until_ready()
    taken, value = clock.seconds(lambda: f(x))
    assert value.is_ready()
    start = time.perf_counter()
    f(x).block_until_ready()
    assert taken > 0.2 * (time.perf_counter() - start)


@pytest.mark.skipif(not clock._RESET.exists(), reason="the system does not tell")
def test_peak_is_the_memory_of_a_call_every_time():
    def call():
        return np.ones(40 * 2**17).sum()  # 40 MiB

    for _ in range(3):
        assert clock.peak_mib(call, None) == pytest.approx(40, abs=4)


def test_peak_on_a_gpu_is_that_of_the_compiled_program(monkeypatch):
    devices = [types.SimpleNamespace(platform="gpu")]
    x = jnp.ones(2**20)
    lower = lambda: jax.jit(lambda x: x + 1.0).lower(x)
    lowered = lower()
    monkeypatch.setattr(jax, "devices", lambda: devices)
    assert clock.peak_mib(lambda: None, lambda: lowered) == pytest.approx(8.0, abs=0.1)
    assert clock.peak_mib(lambda: None, None) is None


def test_header_tells_the_machine_and_the_versions():
    found = machine.header()
    assert found["cores"] >= 1
    assert found["device"] == jax.devices()[0].device_kind
    assert found["versions"]["jax"] == jax.__version__
    assert set(found["versions"]) > {"scipy", "flax", "jaxlib", "klujax", "badcrossbar"}


def test_header_warns_of_threads_that_cannot_be_bounded(monkeypatch):
    import scipy.linalg  # noqa: F401, its library is loaded from here on

    monkeypatch.setattr(machine, "blas", machine.blas.__wrapped__)
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda name: None)
    assert "OPENBLAS_NUM_THREADS=1" in machine.header()["warning"]
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    assert "warning" not in machine.header()


def test_blas_has_one_thread_inside_and_what_it_had_after(monkeypatch):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    monkeypatch.setattr(machine, "blas", machine.blas.__wrapped__)
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)

    def threads():
        return [lib["num_threads"] for lib in threadpoolctl.threadpool_info()]

    with threadpoolctl.threadpool_limits(2):
        with machine.one_blas_thread():
            assert set(threads()) == {1}
        assert 2 in threads()
