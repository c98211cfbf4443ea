"""Training and evaluation of a classifier."""

import jax
import numpy as np
import pytest
from flax import nnx

import jaxbar as jb
from jaxbar.training import MLP, accuracy, cross_entropy, fit, train_step


def blobs(count=200, classes=3):
    """Points around well separated centres: (count, 4) float32, (count,) int32."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, count).astype(np.int32)
    centres = 3.0 * rng.normal(size=(classes, 4))
    return (centres[y] + 0.3 * rng.normal(size=(count, 4))).astype(np.float32), y


def model(seed=0):
    return MLP(4, 8, 3, rngs=nnx.Rngs(seed))


def parameters(model):
    return jax.tree.leaves(nnx.state(model, nnx.Param))


HOW = {"key": jax.random.key(1), "epochs": 8, "batch_size": 32, "learning_rate": 1e-2}


def test_mlp_is_its_formula():
    mlp = MLP(4, 8, 5, 3, rngs=nnx.Rngs(0))
    x = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
    y = x
    for i, layer in enumerate(mlp.layers):
        y = y @ np.asarray(layer.kernel[...]) + np.asarray(layer.bias[...])
        y = np.maximum(y, 0) if i < 2 else y
    np.testing.assert_allclose(mlp(x), y, rtol=1e-5, atol=1e-6)


def test_cross_entropy_is_its_formula():
    logits = np.asarray([[1.0, 2.0, 3.0], [0.0, 5.0, 0.0]], np.float32)
    labels = np.asarray([2, 0], np.int32)
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    expected = -np.log(p[[0, 1], labels]).mean()
    np.testing.assert_allclose(cross_entropy(lambda x: x, logits, labels), expected, rtol=1e-6)


def test_fit_learns():
    x, y = blobs()
    mlp = model()
    before = accuracy(mlp, x, y)
    losses = fit(mlp, x, y, **HOW)
    assert len(losses) == 8
    assert losses[-1] < 0.2 * losses[0]
    assert before < 0.8
    assert accuracy(mlp, x, y) > 0.97


def test_same_key_same_numbers_other_key_other_numbers():
    x, y = blobs()
    runs = []
    for key in (1, 1, 2):
        mlp = model()
        losses = fit(mlp, x, y, **(HOW | {"key": jax.random.key(key)}))
        runs.append((losses, parameters(mlp)))
    assert runs[0][0] == runs[1][0]
    for a, b in zip(runs[0][1], runs[1][1], strict=True):
        np.testing.assert_array_equal(a, b)
    assert runs[0][0] != runs[2][0]


def test_one_compilation_serves_all_steps():
    x, y = blobs(count=203)  # a rest of 11 each epoch
    compiled = []

    class Counting(MLP):
        def __call__(self, x):
            compiled.append(x.shape)
            return super().__call__(x)

    fit(Counting(4, 8, 3, rngs=nnx.Rngs(0)), x, y, **HOW)
    assert set(compiled) == {(32, 4)}
    assert len(compiled) == 1


def test_every_image_is_seen_once_an_epoch():
    """A bias-free identity: the gradient of a step at rate ~0 tells which rows it saw."""
    count = 12
    x, y = np.eye(count, dtype=np.float32), np.zeros(count, np.int32)
    seen = []

    class Spy(nnx.Module):
        def __init__(self):
            self.w = nnx.Param(jax.numpy.zeros((count, 2)))

        def __call__(self, x):
            jax.debug.callback(lambda x: seen.append(np.asarray(x)), x)
            return x @ self.w[...]

    fit(Spy(), x, y, key=jax.random.key(0), epochs=2, batch_size=4, learning_rate=1e-3)
    jax.effects_barrier()
    rows = np.concatenate(seen).argmax(1).reshape(2, count)
    for epoch in rows:
        assert sorted(epoch) == list(range(count))
    assert list(rows[0]) != list(rows[1])
    assert list(rows[0]) != list(range(count))


def test_rate_falls_to_zero():
    """Adam's steps on a constant gradient are as long as its rate: here half of epochs × rate."""

    class Slope(nnx.Module):
        def __init__(self):
            self.w = nnx.Param(jax.numpy.zeros(2))

        def __call__(self, x):
            return jax.numpy.broadcast_to(self.w[...], (len(x), 2))

    slope = Slope()
    x, y = np.zeros((4, 1), np.float32), np.zeros(4, np.int32)
    fit(slope, x, y, key=jax.random.key(0), epochs=100, batch_size=4, learning_rate=1e-4)
    np.testing.assert_allclose(slope.w[...], [0.005, -0.005], rtol=0.02)


def test_batch_larger_than_the_data():
    x, y = blobs(count=10)
    assert len(fit(model(), x, y, **(HOW | {"batch_size": 64, "epochs": 3}))) == 3


def test_no_epochs_change_nothing():
    x, y = blobs()
    mlp, calls = model(), []
    assert fit(mlp, x, y, **(HOW | {"epochs": 0}), progress=lambda *a: calls.append(a)) == []
    for a, b in zip(parameters(mlp), parameters(model()), strict=True):
        np.testing.assert_array_equal(a, b)
    assert calls == []


def test_progress_counts_steps():
    x, y = blobs(count=100)
    calls = []
    fit(model(), x, y, **(HOW | {"epochs": 2}), progress=lambda *a: calls.append(a))
    assert calls == [(i, 6) for i in range(1, 7)]


@pytest.mark.parametrize("count", [0, 3])
def test_inputs_and_labels_must_meet(count):
    x, y = blobs(count=10)
    with pytest.raises(ValueError, match="as many, and ≥ 1"):
        fit(model(), x[:0] if count == 0 else x, y[:count], **HOW)


@pytest.mark.parametrize("batch_size", [7, 50, 2048])
def test_accuracy_does_not_depend_on_the_batch(batch_size):
    x, y = blobs(count=50)
    mlp = model()
    expected = np.mean(np.asarray(mlp(x)).argmax(1) == y)
    assert 0 < expected < 1
    assert accuracy(mlp, x, y, batch_size) == pytest.approx(expected, abs=1e-12)


def test_step_of_an_ideal_crossbar_is_the_digital_step():
    import optax

    x, y = blobs(count=32)
    digital = model()
    analog = jb.patch_model(digital, jb.CrossbarConfig(tile_shape=(3, 5)))
    for m in (digital, analog):
        optimizer = nnx.Optimizer(m, optax.sgd(0.1), wrt=nnx.Param)
        for _ in range(3):
            train_step(m, optimizer, x, y)
    for a, b, start in zip(*map(parameters, (digital, analog, model())), strict=True):
        assert np.abs(np.asarray(a - start)).max() > 1e-3
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
