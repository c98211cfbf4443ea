"""Write-verify in plain Python, one cell after another; and the devices that tests write."""

import numpy as np

from jaxbar.devices import DataDriven2021

DEVICE = DataDriven2021(
    r_on=1800.0,
    r_off=2500.0,
    A_p=600.10075,
    t_p=-0.0212028,
    A_n=-34.5988399,
    t_n=-0.05343997,
    r_p=[2699.2336, -672.930205],
    r_n=[649.413746, -1474.32358],
    a=0.32046175,
    b=2.71689828,
)


def targets(shape, seed=0, r_on=1800.0, r_off=2500.0, dtype=np.float64):
    """Uniform in conductance."""
    return np.random.default_rng(seed).uniform(1 / r_off, 1 / r_on, shape).astype(dtype)


def write(device, target, state, p, network=None):
    """(state, conductance, pulses, amplitude, status name) of a tile.

    p: the protocol, with numbers only; network: None, or a function of conductances and of the
    voltages of the lines to the voltages of the cells.
    """
    m, n = target.shape
    state, share = np.array(state, float), {"V/2": 1 / 2, "V/3": 1 / 3}.get(p.scheme)
    least = p.tolerance / 50 if p.least_change is None else p.least_change
    level = np.full((m, n), float(p.amplitude))
    up, idle, pulses = np.zeros((m, n), bool), np.zeros((m, n), int), np.zeros((m, n), int)
    low, high = 1 / device.r_off, 1 / device.r_on
    aim = np.clip(target, low, high)
    reachable = np.abs(aim - target) <= p.tolerance * target
    aim = np.where(reachable, target, aim)

    def read():
        return np.array(device.conductance(state))

    def active(i, j):
        g = read()[i, j]
        stuck = idle[i, j] >= p.patience and up[i, j] == (g < aim[i, j])
        near = abs(g - aim[i, j]) <= p.tolerance * aim[i, j]
        return not near and not stuck and pulses[i, j] < p.max_pulses

    def rises(i, j):
        return bool(read()[i, j] < aim[i, j])

    def pulse(i, columns, raises):
        """Cells of one row, all one way."""
        nonlocal state
        before, height = read(), {}
        for j in columns:
            if up[i, j] != raises:
                level[i, j], idle[i, j], up[i, j] = p.amplitude, 0, raises
            height[j] = level[i, j] * device.set_polarity * (1 if raises else -1)
        highest = max(height.values(), key=abs)
        v = np.zeros((m, n))
        if share is None:
            for j in columns:
                v[i, j] = height[j]
        else:
            word = [highest if k == i else share * highest for k in range(m)]
            bit = [highest - height[j] if j in height else (1 - share) * highest for j in range(n)]
            for k in range(m):
                for j in range(n):
                    v[k, j] = word[k] - bit[j]
            if network is not None:
                v = network(before, np.array(word), np.array(bit))
        state = np.where(v == 0, state, np.array(device.step(state, v, p.width)))
        after = read()
        for j in columns:
            way = (after - before)[i, j] * (1 if raises else -1)
            if not way > least * before[i, j]:
                top = level[i, j] >= p.max_amplitude
                still = not way > p.tolerance / p.max_pulses * before[i, j]
                idle[i, j] = idle[i, j] + 1 if top and still else 0
                level[i, j] = min(level[i, j] + p.ramp, p.max_amplitude)
            else:
                idle[i, j] = 0
            pulses[i, j] += 1

    def group(i, columns):
        while on := [j for j in columns if active(i, j)]:
            raises = any(rises(i, j) for j in on)
            pulse(i, [j for j in on if rises(i, j) == raises], raises)

    cells = [(i, j) for i in range(m) for j in range(n)]
    while any(active(i, j) for i, j in cells):
        if p.order == "row" and p.scheme != "none":
            for i in range(m):
                group(i, range(n))
        elif p.order == "cell" and p.scheme != "none":
            for i, j in cells:
                group(i, [j])
        else:
            wanted = [(i, j, rises(i, j)) for i, j in cells if active(i, j)]
            for i in range(m):
                for raises in (True, False):
                    if columns := [j for k, j, way in wanted if k == i and way == raises]:
                        pulse(i, columns, raises)

    g = read()
    status = np.full((m, n), "LIMIT", object)
    for i, j in cells:
        if abs(g[i, j] - target[i, j]) <= p.tolerance * target[i, j]:
            status[i, j] = "DONE"
        elif not reachable[i, j]:
            status[i, j] = "OUT_OF_RANGE"
        elif idle[i, j] >= p.patience and up[i, j] == (g[i, j] < aim[i, j]):
            status[i, j] = "STUCK"
    return state, g, pulses, level, status
