"""Launcher for plain ranks: launch_plain.py WORLD SCRIPT. One second after a rank has failed, it terminates the others, as an elastic agent does."""
import os
import subprocess
import sys
import time


def main():
    world = int(sys.argv[1])
    ranks = {}
    for rank in range(world):
        process = subprocess.Popen([sys.executable, sys.argv[2]], env=dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world)))
        ranks[process.pid] = process
    failed = False
    while ranks:
        pid, status = os.wait()
        del ranks[pid]
        if status and not failed:
            failed = True
            time.sleep(1)
            for process in ranks.values():
                process.terminate()


if __name__ == "__main__":
    main()
