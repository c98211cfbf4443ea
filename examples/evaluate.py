"""The accuracy of a trained model over 16 wire resistances, in one compiled vmap.

    python examples/evaluate.py        # about a minute on two cores

Needs scikit-learn for the digits: pip install 'jaxbar[data]'.
"""

import jax
import jax.numpy as jnp
from flax import nnx

import jaxbar as jb
from jaxbar import data, training


def main():
    x, y, x_test, y_test = data.load("digits")
    model = training.MLP(64, 32, 10, rngs=nnx.Rngs(0))
    training.fit(model, x, y, key=jax.random.key(0), epochs=30, batch_size=64, learning_rate=3e-3)

    config = jb.CrossbarConfig(tile_shape=(64, 64), wires=jb.Wires(), r_on=1.8e3, r_off=2.5e3)
    analog = jb.patch_model(model, config)

    @jax.jit
    def accuracy(resistance):
        wires = jb.Wires(resistance, resistance, resistance, resistance)
        logits = jb.reconfigure(analog, wires=wires)(x_test)
        return jnp.mean(logits.argmax(-1) == y_test)

    resistances = jnp.geomspace(0.01, 10.0, 16)  # ohm a segment
    accuracies = jax.vmap(accuracy)(resistances)

    print("ohm a segment   accuracy (mapped, not calibrated)")
    for resistance, found in zip(resistances, accuracies, strict=True):
        print(f"{resistance:13.3f}   {found:.1%}")


if __name__ == "__main__":
    main()
