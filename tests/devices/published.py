"""The published formulas in plain Python, one device and one step at a time."""

import math

# Boltzmann's constant over the elementary charge, V/K.
KELVIN = 1.380649e-23 / 1.602176634e-19


def linear_ion_drift(x, v, dt):
    if v >= 0.55 or v <= -0.55:
        i = v / (100 * x + 16e3 * (1 - x))
        x += dt * 1e-14 * 100 / 10e-9**2 * i * (1 - (2 * x - 1) ** 2)
    return min(max(x, 0.0), 1.0)


def vteam(w, v, dt):
    if v >= 0.02:
        w += dt * 5e-4 * (v / 0.02 - 1)
    elif v <= -0.2:
        w += dt * -10 * (v / -0.2 - 1) ** 3
    return min(max(w, 0.0), 3e-9)


def stanford_pku(gap, v, dt):
    i = 1e-3 * math.exp(-gap / 0.25e-9) * math.sinh(v / 0.25)
    thermal = KELVIN * (298 + abs(v * i) * 2.1e3)
    gamma = 16 - 0.8 * (gap / 1e-9) ** 3
    if gamma * abs(v) / 12e-9 < 1.4e9:
        gamma = 0.0
    gap -= dt * 10 * math.exp(-0.6 / thermal) * math.sinh(gamma * 0.25e-9 * v / (12e-9 * thermal))
    low, high = (0.25e-9 * math.log(1e-3 * math.sinh(0.4) * r / 0.1) for r in (542, 218586))
    return min(max(gap, low), high)


def data_driven_2018(r, v, dt):
    new = r
    if v > 0:
        k, limit, s = 5.11e-4, 16719, 743.47 * (math.exp(6.51 * v) - 1)
        inner = math.exp(k * r) - math.exp(k * limit)
        new = math.log(math.exp(k * limit) + math.exp(-k * s * dt) * inner) / k
        new = r if new > limit else new
    elif v < 0:
        k, limit = 1.17e-3, 29304.82557 + 23692.77225 * v
        s = -68012.28374 * (math.exp(0.31645 * -v) - 1)
        inner = math.exp(k * s * dt) - 1
        new = -math.log(math.exp(-k * r + k * s * dt) - math.exp(-k * limit) * inner) / k
        new = r if new < limit else new
    return min(max(new, 1280), 17e3)


def data_driven_2021(r, v, dt):
    if v == 0:
        return r
    limit = 2699.2336 - 672.930205 * v if v > 0 else 649.413746 - 1474.32358 * v
    s = 600.10075 * (math.exp(v / -0.0212028) - 1) if v > 0 else 0.0
    s = -34.5988399 * (math.exp(-v / -0.05343997) - 1) if v < 0 else s
    new = (r + s * limit * (limit - r) * dt) / (1 + s * (limit - r) * dt)
    stays = new < limit if v > 0 else new > limit
    return r if stays else min(max(new, 1600), 3000)


def trajectory(step, state, voltages, dt):
    states = []
    for v in voltages:
        state = step(state, float(v), dt)
        states.append(state)
    return states
