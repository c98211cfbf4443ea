"""Workloads by name, and their rows: errors, keys and tables."""

import io
import json

import jax
import numpy as np
import pytest
from flax import nnx
from rich.console import Console

import jaxbar as jb
from jaxbar import bench
from jaxbar.bench import job, networks, tiles

KEYS = ["workload", "kind", "dtype", "first_s", "median_ms", "low_ms", "high_ms", "runs"]
KEYS += ["peak_mib", "error"]


def silent(what, done, total):
    pass


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    if request.param == "float64":
        request.getfixturevalue("x64")
    return request.param


def measured(jobs, dtype, peers=True):
    return [job.measure(each, dtype, peers=peers, repeats=2) for each in jobs]


def small(dtype, severity="harsh"):
    return tiles.jobs("small", severity, 16, 3, dtype)


@pytest.mark.parametrize("severity", tiles.SEVERITY)
def test_currents_and_derivatives_are_superlus(severity, dtype):
    rows = measured(small(dtype, severity), dtype)
    assert [row["kind"] for row in rows] == ["forward", "gradient"]
    for row in rows:
        assert 0 < row["error"] < {"float32": 1e-6, "float64": 1e-9}[dtype]


def test_a_row_has_its_keys_and_survives_json():
    for row in measured(small("float32"), "float32"):
        assert list(row)[: len(KEYS)] == KEYS
        assert {"superlu_ms", "superlu_ratio"} < set(row)
        assert json.loads(json.dumps(row)) == row
        assert row["low_ms"] <= row["median_ms"] <= row["high_ms"]
        assert row["runs"] == 2
        assert row["superlu_ratio"] == pytest.approx(row["superlu_ms"] / row["median_ms"])


def test_without_peers_there_is_an_error_still():
    for row in measured(small("float32"), "float32", peers=False):
        assert list(row) == KEYS
        assert row["error"] < 1e-6


def test_a_peer_that_cannot_do_it_is_left_out():
    forward = next(small("float32"))
    found = job.Job("x", "forward", forward.call, None, {**forward.peers, "other": lambda: None})
    assert "other_ms" not in job.measure(found, "float32", peers=True, repeats=1)


def test_a_wrong_result_shows():
    exact = np.array([1.0, -4.0])
    assert job.relative_error(np.array([1.0, -3.0]), exact) == 0.25
    with pytest.raises(ValueError, match="must agree"):
        job.relative_error(np.ones(3), exact)


def layer(forward=True):
    wires = jb.Wires(2.0, 2.0, 2.0, 2.0)
    config = jb.CrossbarConfig(tile_shape=(8, 8), wires=wires, adc=jb.ADC(bits=8))
    return networks.Layer(11, 9, 5, config, forward=forward)


def test_a_layer_is_calibrated_and_its_solves_are_superlus(dtype):
    jobs = networks.layer_jobs("layer", layer(), dtype)
    tune = next(jobs)
    assert any(bool(x.tuned) for x in nnx.to_flat_state(tune.call()).leaves if hasattr(x, "tuned"))
    (forward,) = measured(jobs, dtype)
    assert (tune.kind, forward["kind"]) == ("tune", "forward")
    # The difference of two arrays' currents, relative to the largest difference.
    assert 0 < forward["error"] < {"float32": 3e-5, "float64": 1e-8}[dtype]
    (alone,) = networks.layer_jobs("layer", layer(forward=False), dtype)
    assert alone.kind == "tune"


def test_training_steps_lower_the_loss(dtype):
    jobs = list(networks.training_jobs(dtype, sizes=(12, 3), batch=8, tile=16))
    assert [(each.workload, each.kind) for each in jobs] == [
        ("training", "digital"),
        ("training", "step"),
        ("training-1k-40k", "step"),
    ]
    for each in jobs:
        losses = [each.call() for _ in range(5)]
        assert losses[0].dtype == dtype
        assert losses[-1] < losses[0]


def test_names():
    names = bench.names()
    assert len(names) == len(set(names)) == 27
    assert {"mild-128x256", "harsh-512x1", "passive_128", "passive_512", "training"} < set(names)


def test_patterns_choose_each_workload_once():
    assert bench.select(["training", "mild-64x*", "mild-*x1", "training"]) == [
        *("training", "mild-64x1", "mild-64x32", "mild-64x256"),
        *("mild-128x1", "mild-256x1", "mild-512x1"),
    ]


@pytest.mark.parametrize(
    "names, options, message",
    [
        (["passive-128"], {}, "did you mean 'passive_128'"),
        (["soft-*"], {}, "workload = 'soft-\\*'"),
        (["training"], {"dtype": "float16"}, "dtype = 'float16'"),
        (["training"], {"repeats": 0}, "repeats = 0"),
    ],
)
def test_mistakes_are_told_before_anything_runs(names, options, message):
    with pytest.raises(ValueError, match=message):
        bench.rows(names, progress=silent, **options)


def test_run_shows_its_progress_and_keeps_the_precision(monkeypatch):
    seen = []
    monkeypatch.setattr(bench, "_TILES", {"tiny": ("mild", 4, 2), "tiny2": ("harsh", 4, 1)})
    rows = bench.run(
        ["tiny*"],
        dtype="float64",
        peers=False,
        repeats=1,
        progress=lambda *args: seen.append(args),
    )
    assert seen == [("benchmark", k, 4) for k in range(5)]
    assert [(row["workload"], row["kind"]) for row in rows] == [
        *(("tiny", "forward"), ("tiny", "gradient")),
        *(("tiny2", "forward"), ("tiny2", "gradient")),
    ]
    assert all(row["error"] < 1e-9 for row in rows)


def test_precision_is_the_callers_between_rows(monkeypatch):
    monkeypatch.setattr(bench, "_TILES", {"tiny": ("mild", 4, 2)})
    for _ in bench.rows(["tiny"], dtype="float64", repeats=1, peers=False, progress=silent):
        assert not jax.config.jax_enable_x64


def test_the_count_of_rows_is_right(monkeypatch):
    monkeypatch.setattr(networks, "LAYERS", {"a": layer(), "b": layer(forward=False)})
    counted = [bench._count(name) for name in ("a", "b", "training", "mild-64x1")]
    training = list(networks.training_jobs("float32", sizes=(4, 3), batch=2, tile=4))
    assert counted == [2, 1, len(training), len(list(tiles.jobs("x", "mild", 2, 1, "float32")))]


ROWS = [
    {
        **{"workload": "mild-4x2", "kind": "forward", "dtype": "float32", "first_s": 0.456},
        **{"median_ms": 1.2345, "low_ms": 1.0, "high_ms": 1234.5, "runs": 15, "peak_mib": None},
        **{"error": 1.7e-7, "superlu_ms": 12.345, "superlu_ratio": 10.0},
    },
    {
        **{"workload": "training", "kind": "step", "dtype": "float32", "first_s": 4.56},
        **{"median_ms": 566.4, "low_ms": 500.0, "high_ms": 600.0, "runs": 15, "peak_mib": 168.2},
        "error": None,
    },
]


def test_markdown():
    lines = bench.markdown(ROWS).splitlines()
    assert lines[0].startswith("| workload | kind | first (s) | median (ms) |")
    assert lines[0].endswith("| superlu (×) |")
    assert lines[2] == "| mild-4x2 | forward | 0.46 | 1.23 | 1.00–1230 |  | 2e-07 | 10 |"
    assert lines[3] == "| training | step | 4.6 | 566 | 500–600 | 170 |  |  |"
    assert len({line.count("|") for line in lines}) == 1


def test_table():
    console = Console(width=160, record=True, file=io.StringIO())
    console.print(bench.table(ROWS))
    text = console.export_text()
    for shown in ("float32", "mild-4x2", "2e-07", "superlu (×)", "1.00–1230"):
        assert shown in text


def test_a_configuration_file_is_a_workload(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text("tune_images = 7\n[model]\nhidden = [5]\n[crossbar]\ntile_shape = [16, 16]\n")
    assert bench.select([str(path)]) == [str(path)]
    found = networks.layer_of(str(path))
    assert (found.inputs, found.outputs, found.samples) == (64, 5, 7)
    assert found.config.tile_shape == (16, 16)
    assert bench._count(str(path)) == 1
    with pytest.raises(FileNotFoundError):
        bench.select([str(tmp_path / "other.toml")])
