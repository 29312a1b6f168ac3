"""Seeded laws of noise, and bounds for counts of rare events."""
import math

# Laws of the loss and the gradient norm: factors around 1.
LAWS = ("gauss", "t3", "gamma", "log-normal", "ar", "batches")
SPREAD = 0.03
# 95% upper bounds of a Poisson count for 0, 1, 2 … events.
POISSON = (3.0, 4.74, 6.30, 7.75, 9.15, 10.51, 11.84, 13.15, 14.43, 15.71)


def factors(law, rng):
    """Yields endless factors around 1 of one of LAWS; `batches`: Gauss with 0.5% single batches of 8 to 17 deviations."""
    state = 0.0
    while True:
        if law == "gauss":
            yield 1 + SPREAD * rng.gauss(0, 1)
        elif law == "t3":
            yield max(0.01, 1 + SPREAD * rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.5, 2) / 3))
        elif law == "gamma":
            yield rng.gammavariate(16, 1 / 16)
        elif law == "log-normal":
            yield math.exp(0.6 * rng.gauss(0, 1) - 0.18)
        elif law == "ar":
            state = 0.8 * state + 0.6 * rng.gauss(0, 1)
            yield 1 + SPREAD * state
        else:
            yield 1 + SPREAD * (rng.uniform(8, 17) if rng.random() < 0.005 else rng.gauss(0, 1))


def step_noise(sigma, rho, rng):
    """Yields endless factors of a step's time: standard deviation sigma, correlation rho from one step to the next."""
    state = rng.gauss(0, 1)
    while True:
        yield max(0.2, 1 + sigma * state)
        state = rho * state + math.sqrt(1 - rho * rho) * rng.gauss(0, 1)


def upper_bound(events):
    """Returns the 95% upper bound of the mean number of events, given an observed number."""
    return POISSON[events] if events < len(POISSON) else events + 2 * math.sqrt(events) + 2
