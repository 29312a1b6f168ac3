"""Plans of simulated jobs. There are two sets of seeds: `choose` for choosing rules, and `report` for every number in the documents."""
import noise
import simulate

SETS = ("choose", "report")
INTERVALS = (1, 5, 10, 25, 100)
LENGTHS = (1, 3, 6, 20, 0)
SIGMAS = (0.1, 0.2, 0.3)
RHOS = (0.0, 0.5, 0.9)
RANKS = (2, 4, 8)
# Interval and duration of disturbances caused by other processes, in seconds.
TIMERS = ((1.0, 0.15), (7.3, 0.4), (30.0, 1.0))


# Number of rows in a healthy log, by interval. Steps between rows are evaluated too, so sparse logs have fewer rows.
ROWS = {1: 1500, 5: 600, 10: 400, 25: 200, 100: 100}


def long_plan(seeds):
    for every in INTERVALS:
        for law in noise.LAWS:
            yield simulate.values(seeds, law, every, ROWS[every])
            for rise in (0.3, 1.0) if every == 1 else (1.0,):
                for length in LENGTHS if every <= 10 else (1, 6, 0) if every < 100 else ():
                    yield simulate.values(seeds, law, every, 0, rise, length, onset=100)
    for ranks in RANKS:
        for sigma in SIGMAS:
            for rho in RHOS:
                for base in (0.1, 0.5):
                    yield simulate.healthy_steps(seeds, ranks, sigma, rho, 600, base=base)
        for sigma in (0.03, 0.1):
            yield simulate.healthy_steps(seeds, ranks, sigma, 0.5, 1200, pauses=True)
            for number, timer in enumerate(TIMERS if ranks == 2 else TIMERS[1:2]):
                yield simulate.healthy_steps(seeds, ranks, sigma, 0.5, 900, number=number, base=0.1, pauses=True, timer=timer)
    for every in INTERVALS[1:]:
        for ranks in (1, 4):
            for sigma in (0.1, 0.3):
                yield simulate.healthy_steps(seeds, ranks, sigma, 0.5, ROWS[every] // 2 * every, every=every)
    for fault in simulate.FAULTS:
        for ranks in RANKS[:2] if fault.startswith("stages") else RANKS:
            for sigma in (0.03, 0.1) if ranks == 2 else (0.03,):
                yield simulate.faulty_steps(seeds, fault, ranks, sigma, 0.5)
    for sigma in SIGMAS[:1]:
        for ranks in RANKS:
            yield simulate.faulty_steps(seeds, simulate.TIMER_FAULT, ranks, sigma, 0.9)
    yield simulate.faulty_steps(seeds, simulate.TIMER_FAULT, 2, 0.03, 0.5)
    for every in INTERVALS[1:4]:
        for fault in ("rank 1.3x", "rank 2x", "all 1.3x", "one stall of 60 s"):
            yield simulate.faulty_steps(seeds, fault, 2, 0.03, 0.5, every=every)
    for ranks in RANKS:
        for number, steps in enumerate((20, 30, 45)):
            for sigma in SIGMAS:
                yield simulate.short_profile(seeds, ranks, sigma, steps, number)
    for shape in ("linear", "cosine"):
        for every in (1, 10, 100):
            yield simulate.decay(seeds, shape, every, 400 if every < 100 else 120)


def fast_plan(seeds):
    """Yields a subset of the plan for every test run."""
    for every in (1, 10):
        for law in noise.LAWS:
            yield simulate.values(seeds, law, every, 400)
            yield simulate.values(seeds, law, every, 0, 1.0, 6, onset=150)
    yield simulate.values(seeds, "batches", 1, 0, 1.0, 1, onset=150)
    for ranks, sigma, rho in ((2, 0.1, 0.9), (2, 0.2, 0.5), (4, 0.2, 0.9), (4, 0.3, 0.5)):
        yield simulate.healthy_steps(seeds, ranks, sigma, rho, 500, base=0.25)
    for number, timer in enumerate(TIMERS):
        yield simulate.healthy_steps(seeds, 2, 0.03, 0.5, 600, number=number, base=0.1, pauses=True, timer=timer)
    for every in (10, 25):
        yield simulate.healthy_steps(seeds, 2, 0.1, 0.5, 250 * every, every=every)
    for fault in simulate.FAULTS:
        yield simulate.faulty_steps(seeds, fault, 2, 0.03, 0.5)
    yield simulate.faulty_steps(seeds, simulate.TIMER_FAULT, 2, 0.1, 0.9)
    for fault in ("rank 2x", "all 1.3x", "one stall of 60 s"):
        yield simulate.faulty_steps(seeds, fault, 2, 0.03, 0.5, every=10)
    for steps in (20, 45):
        yield simulate.short_profile(seeds, 4, 0.2, steps, 0)
    yield simulate.decay(seeds, "linear", 10, 200)


def page_plan(seeds):
    """Yields the plan of docs/accuracy.md: the fast subset, and enough healthy steps for a bound."""
    yield from fast_plan(seeds)
    for law in noise.LAWS:
        yield simulate.values(seeds, law, 1, 2500, number=1)
        yield simulate.values(seeds, law, 10, 300, number=1)
    for sigma in SIGMAS:
        for rho in RHOS:
            yield simulate.healthy_steps(seeds, 2, sigma, rho, 1500, number=1)


PLANS = {"fast": fast_plan, "page": page_plan, "long": long_plan}
