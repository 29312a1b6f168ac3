"""Seeded noise laws, and bounds for counts of rare events."""
import math

# Noise laws for the loss and the gradient norm: factors around 1.
LAWS = ("gauss", "t3", "gamma", "log-normal", "ar", "batches")
SPREAD = 0.03
# 95% upper bounds on a Poisson count for 0, 1, 2 … events.
POISSON = (3.0, 4.74, 6.30, 7.75, 9.15, 10.51, 11.84, 13.15, 14.43, 15.71)


def factors(law, rng):
    """Yields an endless sequence of factors around 1 from one of LAWS. The law `batches` is Gaussian noise in which 0.5% of the batches deviate by
    8 to 17 standard deviations."""
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
    """Yields an endless sequence of factors for the step time, with standard deviation sigma and correlation rho between consecutive steps."""
    state = rng.gauss(0, 1)
    while True:
        yield max(0.2, 1 + sigma * state)
        state = rho * state + math.sqrt(1 - rho * rho) * rng.gauss(0, 1)


def upper_bound(events):
    """Returns the 95% upper bound on the mean number of events, given the observed number."""
    return POISSON[events] if events < len(POISSON) else events + 2 * math.sqrt(events) + 2
