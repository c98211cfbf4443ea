"""The command line: what it prints, and its exit status."""

import json
import re
import sys
from importlib.metadata import entry_points

import pytest

from jaxbar import bench, cli, experiment, plots
from jaxbar.report import package_version

TINY = """
tune_images = 40
[data]
limit = 100
test_fraction = 0.1
[model]
hidden = [8]
[training]
epochs = 2
[retraining]
epochs = 1
[crossbar]
tile_shape = [64, 16]
solver = {method = "cg"}  # compiles faster than the default
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(TINY + "[crossbar.wires]\nword = 2.0\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "some [plot] folder"


def test_run(config, out, capsys):
    arguments = ["run", config, "--set", "crossbar.wires.word=2.5", "--set", "seed=3"]
    assert cli.main([*arguments, "--out", str(out)]) == 0
    printed = capsys.readouterr()
    report = json.loads((out / "report.json").read_text())
    assert report["settings"]["crossbar"]["wires"]["word"] == 2.5
    assert report["settings"]["seed"] == 3
    assert report["settings"]["output"] == str(out)
    for key, name in experiment.STAGES.items():
        (row,) = [line for line in printed.out.splitlines() if name in line]
        assert f"{100 * report['stages'][key]['accuracy']:.1f}" in row
    assert f"report.json, accuracy.png, voltages.png in {out}" in printed.out
    assert "train through the wires: 1/1" in printed.err
    assert "\x1b" not in printed.out + printed.err


def test_no_plots(config, out):
    assert cli.main(["run", config, "--out", str(out), "--no-plots"]) == 0
    assert [path.name for path in out.iterdir()] == ["report.json"]


def test_missing_matplotlib_is_told(config, out, capsys, monkeypatch):
    monkeypatch.setattr(plots, "available", lambda: False)
    assert cli.main(["run", config, "--out", str(out)]) == 0
    assert "pip install 'jaxbar[plot]'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "crossbar.wires.wrod=2"], "did you mean crossbar.wires.word?"),
        (["--set", "crossbar.r_on=-1"], "crossbar.r_on = -1.0: must be > 0 and finite"),
        (["--set", "data.name=mnist", "--set", "data.path=nowhere"], "train-images-idx3-ubyte"),
    ],
)
def test_user_error_is_one_line(config, out, capsys, arguments, message):
    assert cli.main(["run", config, "--out", str(out), *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    assert line.startswith("jaxbar: error: ")
    assert message in line


def test_missing_file_and_missing_extra(config, out, capsys, monkeypatch):
    assert cli.main(["run", "nowhere.toml"]) == 2
    message = "jaxbar: error: nowhere.toml: no such configuration file\n"
    assert capsys.readouterr().err == message
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert cli.main(["run", config, "--out", str(out)]) == 2
    assert "pip install 'jaxbar[data]'" in capsys.readouterr().err


def test_debug_raises(config):
    with pytest.raises(ValueError, match="unknown key sed: did you mean seed"):
        cli.main(["run", config, "--set", "sed=1", "--debug"])


def test_interrupt(config, out, capsys, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiment, "patch_model", interrupted)
    assert cli.main(["run", config, "--out", str(out)]) == 130
    printed = capsys.readouterr()
    assert printed.err.splitlines()[-1] == "jaxbar: interrupted"
    report = json.loads((out / "report.json").read_text())
    assert report["status"] == "interrupted"
    assert list(report["stages"]) == ["digital"]


def test_warnings_are_told_once(config, out, capsys):
    lame = ["--set", "crossbar.solver.max_iterations=1"]
    assert cli.main(["run", config, "--out", str(out), "--no-plots", *lame]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert told
    assert len(told) == len(set(told))
    assert all(line.startswith("jaxbar: warning: ") for line in told)
    assert any("mapped: layers" in line for line in told)


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_help_has_examples(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "jaxbar run configs/quickstart.toml" in text
    assert "CONFIG.toml" in text or "COMMAND" in text


def test_version(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"jaxbar {package_version('jaxbar')}\n"


@pytest.mark.parametrize("arguments", [[], ["walk"], ["run"]])
def test_wrong_usage(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert "usage: jaxbar" in capsys.readouterr().err


def test_console_script():
    (script,) = entry_points(group="console_scripts", name="jaxbar")
    assert script.load() is cli.main


def test_plan(config, capsys):
    assert cli.main(["plan", config, "--set", "crossbar.memory_budget=64MiB", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["work"], row["layer"], row["shape"]) for row in rows] == [
        *(("train", 0, [64, 8]), ("train", 1, [8, 10])),
        *(("tune", 0, [64, 8]), ("tune", 1, [8, 10])),
    ]
    for row in rows:
        assert row["tiles"] == 2 and row["budget"] == 64 * 2**20
        assert 0 < row["bytes_each"] < row["peak"] <= row["budget"]
    assert rows[0]["used"] == 0.5 and rows[0]["inputs"] == 8
    assert cli.main(["plan", config]) == 0
    printed = capsys.readouterr().out
    assert "tiles of 64×16" in printed and "0 64→8" in printed


def test_plan_of_ideal_wires(tmp_path, capsys):
    path = tmp_path / "ideal.toml"
    path.write_text(TINY, encoding="utf-8")
    assert cli.main(["plan", str(path)]) == 0
    assert "the wires are ideal" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("1kB", "needs .* memory_budget is 1000 B .* a smaller tile_shape"),
        ("much", "crossbar.memory_budget = 'much': must be a number of bytes"),
        ("true", "crossbar.memory_budget = True: must be a whole number or a text"),
    ],
)
def test_a_budget_that_will_not_do(config, capsys, budget, message):
    assert cli.main(["plan", config, "--set", f"crossbar.memory_budget={budget}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(message, line)


def test_bench(capsys, monkeypatch):
    monkeypatch.setattr(bench, "_TILES", {"tiny": ("mild", 4, 2)})
    assert cli.main(["bench", "ti*", "--json", "--repeats", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["kind"] for row in found["rows"]] == ["forward", "gradient"]
    assert all(row["error"] < 1e-6 and row["superlu_ratio"] > 0 for row in found["rows"])
    assert {"date", "device", "cores", "versions"} < set(found)
    assert cli.main(["bench", "tiny", "--markdown", "--repeats", "1", "--no-peers"]) == 0
    assert "| tiny | gradient |" in capsys.readouterr().out
    assert cli.main(["bench", "tini"]) == 2
    assert "did you mean 'tiny'" in capsys.readouterr().err


def test_an_interrupted_bench_keeps_what_it_found(capsys, monkeypatch):
    monkeypatch.setattr(bench, "_TILES", {"tiny": ("mild", 4, 2), "tiny2": ("mild", 3, 2)})

    def rows(*args, **kwargs):
        yield from list(bench._rows(["tiny"], "float32", False, lambda *a: None, 1))
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "rows", rows)
    assert cli.main(["bench", "tiny*", "--json"]) == 130
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)["rows"]) == 2
    assert "interrupted" in printed.err
