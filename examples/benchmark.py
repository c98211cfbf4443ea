"""Time one tile with every method, beside SciPy's SuperLU and klujax, all in one run.

    OPENBLAS_NUM_THREADS=1 python examples/benchmark.py

Medians in milliseconds, compilation apart. Every method runs float32; SuperLU and klujax run
float64 on the nodal matrix, factorisation included. Needs scipy: pip install 'jaxbar[bench]';
klujax is timed if it is there.
"""

import functools
import importlib.util
import time

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg

import jaxbar as jb

SEVERITY = {"mild": (1e5, 1e6, 2.0), "harsh": (1.8e3, 2.5e3, 5.0)}  # ohm, ohm, ohm a segment
CASES = [(64, 1), (64, 256), (128, 1), (128, 32), (128, 256), (256, 32)]


def medians(functions, repeats):
    """{name: median milliseconds}; the functions take turns, so that noise meets all of them."""
    times = {name: [] for name in functions}
    for k in range(repeats + 2):
        for name, f in functions.items():
            start = time.perf_counter()
            jax.block_until_ready(f())
            if k >= 2:  # compiled and warm
                times[name].append(1e3 * (time.perf_counter() - start))
    return {name: float(np.median(t)) for name, t in times.items()}


def nodal(g, r):
    """The nodal matrix as (values, rows, columns, size), every wire r ohm."""
    n = len(g)
    word, bit = np.arange(2 * n * n).reshape(2, n, n)
    ends = [word[:, 0], bit[-1]]
    pairs = [(word[:, :-1], word[:, 1:]), (bit[:-1], bit[1:]), (word, bit)]
    a, b = (np.concatenate([p[k].ravel() for p in pairs]) for k in (0, 1))
    s = np.concatenate([np.full(a.size - g.size, 1 / r), g.ravel()])
    rows, columns = np.concatenate([a, b, a, b, *ends]), np.concatenate([a, b, b, a, *ends])
    values = np.concatenate([s, s, -s, -s, np.full(2 * n, 1 / r)])
    matrix = sp.coo_matrix((values, (rows, columns))).tocsc()
    matrix.sum_duplicates()
    coo = matrix.tocoo()
    return matrix, (coo.data, coo.row.astype(np.int32), coo.col.astype(np.int32))


def peers(g, v, r):
    """Milliseconds of the other programs and the currents by SuperLU."""
    n = len(g)
    matrix, (data, rows, columns) = nodal(g, r)
    drive = np.zeros((2 * n * n, len(v)))
    drive[np.arange(n) * n] = v.T / r

    def superlu():
        nodes = scipy.sparse.linalg.splu(matrix).solve(drive)
        return nodes[n * n + (n - 1) * n :].T / r

    found = medians({"superlu": superlu}, 3)
    if importlib.util.find_spec("klujax"):
        import klujax

        with jax.enable_x64(True):
            solve = jax.jit(lambda: klujax.solve(rows, columns, data, drive))
            found |= medians({"klujax": solve}, 3)
    return found, superlu()


def main():
    print(jax.devices()[0].device_kind, "jax", jax.__version__)
    print(
        "tile × inputs | cg  direct  auto (ratio to the better) | gradient | peers | error of auto"
    )
    for severity, (low, high, r) in SEVERITY.items():
        for n, inputs in CASES:
            rng = np.random.default_rng(0)
            g64, v64 = 1 / rng.uniform(low, high, (n, n)), rng.uniform(0, 0.3, (inputs, n))
            g, v = jnp.asarray(g64, jnp.float32), jnp.asarray(v64, jnp.float32)
            wires = jb.Wires(r, r, r, r)

            def currents(g, v, method, wires=wires):
                return jb.solve(g, v, wires, solver=jb.Solver(method)).currents

            def loss(g, v, currents=currents):
                return jnp.sum(currents(g, v, "auto") ** 2)

            compiled = {
                method: jax.jit(functools.partial(currents, method=method))
                for method in ("cg", "direct", "auto")
            }
            compiled["gradient"] = jax.jit(jax.grad(loss))
            start = time.perf_counter()
            compiled["auto"](g, v).block_until_ready()
            first = time.perf_counter() - start
            calls = {name: functools.partial(f, g, v) for name, f in compiled.items()}
            ms = medians(calls, 15)
            others, exact = peers(g64, v64, r)
            error = np.abs(currents(g, v, "auto") - exact).max() / exact.max()
            ratio = ms["auto"] / min(ms["cg"], ms["direct"])
            line = f"{severity} {n}×{n} × {inputs} | {ms['cg']:.2f}  {ms['direct']:.2f}  "
            line += f"{ms['auto']:.2f} ({ratio:.2f}) | {ms['gradient']:.1f} | "
            line += ", ".join(f"{k} {t:.0f} ({t / ms['auto']:.0f}×)" for k, t in others.items())
            print(f"{line} | {error:.0e} | first call {first:.1f} s", flush=True)


if __name__ == "__main__":
    main()
