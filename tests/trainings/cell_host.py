#!/usr/bin/env python3
"""Host process that imports PyTorch once and forks the ranks of cells, so that they do not have to import it.

cell_host.py CLIENT    CLIENT: folder of the Python client

Each line of the input is a JSON object: {"cell": …, "folder": …, "environment": {…}, "port": …}. For each line, the host forks a launcher. The
launcher forks the ranks and writes their PIDs to FOLDER/pids. Half a second after a rank has failed, it terminates the others, as an elastic agent
does. The output of rank N goes to FOLDER/rank-N. FOLDER/over is written when all ranks have ended.
"""
import atexit
import json
import os
import signal
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, sys.argv[1])

import torch
import torch.nn.parallel  # noqa: F401  loads the modules of a rank before the fork
import torch.optim  # noqa: F401
import torch.distributed  # noqa: F401

import cell_rank

torch.set_num_threads(1)


def run_rank(rank, order):
    output = os.open(os.path.join(order["folder"], "rank-%d" % rank), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    cell = order["cell"]
    os.environ.update(order["environment"])
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(cell["world"]), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(order["port"]), CELL_PIDS=os.path.join(order["folder"], "pids"))
    status = cell_rank.main(cell)
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
    finally:
        os._exit(status)


def launch(order):
    ranks = {}
    for rank in range(order["cell"]["world"]):
        pid = os.fork()
        if pid == 0:
            run_rank(rank, order)
        ranks[pid] = rank
    with open(os.path.join(order["folder"], "pids.new"), "w") as out:
        out.write(" ".join(map(str, ranks)))
    os.rename(os.path.join(order["folder"], "pids.new"), os.path.join(order["folder"], "pids"))
    ends = {}
    failed_at = None
    # Until a parent collects the exit status, any process may read it. The launcher polls slowly, to give the collector time to do so.
    while len(ends) < len(ranks):
        time.sleep(0.5)
        for pid in ranks:
            if pid not in ends:
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended:
                    ends[pid] = status
                    if status and failed_at is None:
                        failed_at = time.monotonic()
        if failed_at is not None and time.monotonic() > failed_at + 0.5:
            for pid in set(ranks) - set(ends):
                os.kill(pid, signal.SIGTERM if time.monotonic() < failed_at + 10 else signal.SIGKILL)
            time.sleep(0.5)
    with open(os.path.join(order["folder"], "over"), "w") as out:
        json.dump({ranks[pid]: status for pid, status in ends.items()}, out)


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            status = 1
            try:
                launch(order)
                status = 0
            finally:
                os._exit(status)


if __name__ == "__main__":
    main()
