"""Train a Flax model through the wires of its crossbar tiles, with nnx and optax alone.

    python examples/train_through_wires.py        # about a minute on two cores

Needs scikit-learn for the digits: pip install 'jaxbar[data]'.
"""

import jax
import optax
from flax import nnx

import jaxbar as jb
from jaxbar import data

EPOCHS, BATCH = 30, 64


class Model(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(64, 32, rngs=rngs)
        self.out = nnx.Linear(32, 10, rngs=rngs)

    def __call__(self, x):
        return self.out(nnx.relu(self.hidden(x)))


@nnx.jit
def step(model, optimizer, x, y):
    def loss(model):
        return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

    value, gradients = nnx.value_and_grad(loss)(model)
    optimizer.update(model, gradients)
    return value


def train(model, x, y):
    optimizer = nnx.Optimizer(model, optax.adam(3e-3), wrt=nnx.Param)
    for epoch in range(EPOCHS):
        order = jax.random.permutation(jax.random.key(epoch), len(x))
        for i in range(0, len(x) - BATCH + 1, BATCH):
            batch = order[i : i + BATCH]
            step(model, optimizer, x[batch], y[batch])


def main():
    x, y, x_test, y_test = data.load("digits")

    def accuracy(model):
        return float((model(x_test).argmax(-1) == y_test).mean())

    model = Model(nnx.Rngs(0))
    train(model, x, y)
    print(f"digital                  {accuracy(model):.1%}")

    wires = jb.Wires(source=5.0, word=5.0, bit=5.0, sense=5.0)  # ohm
    config = jb.CrossbarConfig(tile_shape=(64, 64), wires=wires, r_on=1.8e3, r_off=2.5e3)
    analog = jb.patch_model(model, config)
    print(f"mapped onto tiles        {accuracy(jb.program(analog)):.1%}")
    jb.tune(analog, x[:512])
    print(f"calibrated               {accuracy(jb.program(analog)):.1%}")

    train(analog, x, y)  # the same step: every wire is in the loop
    jb.tune(analog, x[:512])
    print(f"trained through wires    {accuracy(jb.program(analog)):.1%}")


if __name__ == "__main__":
    main()
