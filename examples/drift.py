"""The accuracy of a network of phase-change memory over a year, with and without compensation.

    python examples/drift.py        # about a minute on two cores

Needs scikit-learn for the digits: pip install 'jaxbar[data]'.
"""

import functools

import jax
import numpy as np
from flax import nnx

import jaxbar as jb
from jaxbar import data, training

TIMES = {"1 s": 1.0, "1 h": 3600.0, "1 day": 86400.0, "1 month": 2.6e6, "1 year": 3.15e7}
CHIPS = 10


def main():
    x, y, x_test, y_test = data.load("digits")
    model = training.MLP(64, 32, 10, rngs=nnx.Rngs(0))
    training.fit(model, x, y, key=jax.random.key(0), epochs=30, batch_size=64, learning_rate=3e-3)

    config = jb.CrossbarConfig(
        tile_shape=(64, 64),
        wires=jb.Wires(1.0, 1.0, 1.0, 1.0),
        **{"r_on": 1 / 25e-6, "r_off": np.inf},  # 0 to 25 µS
        nonideal=jb.nonideal.pcm(),
    )
    analog = jb.tune(jb.patch_model(model, config), x[:512])
    keys = jax.random.split(jax.random.key(1), CHIPS)

    @functools.partial(jax.jit, static_argnums=0)
    def accuracies(compensated, key, time):
        """Of one chip; the reads of a test have noise of their own."""
        how = jb.reconfigure(analog, compensation="tile") if compensated else analog
        chip = jb.at_time(jb.program(how, key), time)
        with jb.reading(jax.random.fold_in(key, 1)):
            return (chip(x_test).argmax(-1) == y_test).mean()

    print(f"digital {training.accuracy(model, x_test, y_test):.1%}; means of {CHIPS} chips")
    print("time      as it is   compensated")
    for name, time in TIMES.items():
        both = [
            jax.vmap(lambda key, c=c, t=time: accuracies(c, key, t))(keys).mean()
            for c in (False, True)
        ]
        print(f"{name:8}  {both[0]:7.1%}   {both[1]:7.1%}")


if __name__ == "__main__":
    main()
