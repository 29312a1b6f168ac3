"""Training run of a toy model in its own loop, under any launcher, with a configurable end, configurable numerics, and at most one fault.

loop.py                        one rank; rank, world size, and rendezvous address are read from the environment, as under torchrun
loop.py fork|forkserver|spawn  starts the ranks as children of multiprocessing

$PITWALL_KIND contains the arguments of the kind as JSON: steps, pace (seconds per step), at (step of the end or fault), rank (the rank that ends or
fails), end, after, numerics, fault, once (only the first attempt ends this way).
"""
import atexit
import ctypes
import json
import math
import multiprocessing
import os
import signal
import sys
import time
from multiprocessing import util

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, os.environ["PITWALL_CLIENT"])

import torch  # noqa: E402
import torch.distributed as distributed  # noqa: E402

import numerics  # noqa: E402
import pitwall  # noqa: E402

KIND = json.loads(os.environ["PITWALL_KIND"])
NAP = 3600
IDLE = 25  # seconds; if the loop had not ended, HangSuspected would be reported after 10 s


def print_fault():
    print("fault %.6f" % time.time(), flush=True)


def crash():
    print_fault()
    os.kill(os.getpid(), signal.SIGSEGV)


def crash_in_teardown():
    """Makes the process crash after the client has sent its Goodbye."""
    if multiprocessing.parent_process() is None:
        atexit.register(crash)
    else:
        util.Finalize(None, crash, exitpriority=-1000)


def finish(end):
    """Ends the process in the given way."""
    if end not in ("return", "immediate_0", "exec"):
        print_fault()
    if end == "exception":
        raise ValueError("no such label")
    if end == "replaced_hook":
        sys.excepthook = lambda *_: None
        raise ValueError("no such label")
    if end == "system_exit":
        raise SystemExit(3)
    if end == "system_exit_text":
        raise SystemExit("bad flag")
    if end == "exit":
        exit(3)
    if end.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, end))
        time.sleep(NAP)
    if end.startswith("immediate"):
        os._exit(int(end[len("immediate_")]))
    if end.startswith("exec"):
        os.execv("/bin/true", ["true"])


def fit_as_configured(fit):
    """Calls `fit`, which trains a model, and does what follows the training in this kind."""
    fit()
    if KIND.get("after") == "second_fit":
        fit()
    if KIND.get("after") == "idle":
        time.sleep(IDLE)


def end_as_configured():
    """Ends the process in the way of this kind, unless a Culprit ended it during the training."""
    if KIND.get("at") is None:
        finish(KIND.get("end", "return"))


class Culprit:
    """The fault or the early end of this rank."""

    def __init__(self, rank):
        self.rank = rank
        first = not KIND.get("once") or os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
        self.mine = KIND.get("rank", 0) == rank and first
        self.end = KIND.get("end", "return") if self.mine else "return"
        self.fault = KIND.get("fault") if self.mine else None
        self.at = KIND.get("at")

    def act(self, number):
        """Starts the fault or ends the process if `number` is the configured step."""
        if self.fault == "slow" and number >= self.at:
            if number == self.at:
                print_fault()
            time.sleep(KIND["pace"])
        if number != self.at:
            return
        if self.fault in ("stopped", "holds_gil", "spins", "sleeps"):
            print_fault()
        if self.fault == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.fault == "holds_gil":
            ctypes.PyDLL(None).sleep(NAP)
        if self.fault == "spins":
            sum(range(10 ** 15))  # runs in C with the interpreter lock held
        if self.fault == "sleeps":
            time.sleep(NAP)
        if self.end != "return":
            time.sleep(0.3)  # time for the collector to receive the loop
            finish(self.end)


def rank_main(rank):
    world = int(os.environ["WORLD_SIZE"])
    culprit = Culprit(rank)
    if culprit.end == "teardown_crash":
        crash_in_teardown()
    torch.set_num_threads(1)
    if world > 1:
        distributed.init_process_group("gloo")
    pitwall.init()
    loop(culprit, rank, world)
    after_loop(KIND.get("after"), culprit, rank, world)
    if culprit.at is None:
        finish(culprit.end)
    if world > 1:
        distributed.destroy_process_group()


def loop(culprit, rank, world, seed=1):
    """Runs KIND["steps"] training steps."""
    compute = numerics.KINDS[KIND.get("numerics", "fp32")](rank, world, KIND["pace"], seed)
    for number in pitwall.steps(range(KIND["steps"])):
        culprit.act(number)
        compute(number)


def after_loop(what, culprit, rank, world):
    if what == "idle":
        time.sleep(IDLE)
    elif what == "export":
        begin = time.monotonic()
        while time.monotonic() < begin + IDLE:
            math.factorial(2000)
            time.sleep(0.01)
    elif what == "export_of_one_rank":
        if rank == 0:
            with pitwall.phase("export"):
                time.sleep(IDLE)
        distributed.barrier()
    elif what == "second_loop":
        loop(culprit, rank, world)
    elif what == "second_model":
        loop(culprit, rank, world, seed=2)
    elif what == "second_init":
        pitwall.init(job=os.environ["PITWALL_JOB"] + "-again")
        loop(culprit, rank, world)
    elif what == "late_barrier":
        time.sleep(5 if rank == 1 else 0)
        distributed.barrier()
    elif what == "last_barrier":
        if culprit.mine:
            print_fault()
            time.sleep(NAP)
        distributed.barrier()


def child(rank, *_):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
    rank_main(rank)


def main():
    if len(sys.argv) > 1:
        import torch.multiprocessing
        torch.multiprocessing.start_processes(child, nprocs=int(os.environ["WORLD_SIZE"]), start_method=sys.argv[1])
    else:
        rank_main(int(os.environ["RANK"]))


if __name__ == "__main__":
    main()
