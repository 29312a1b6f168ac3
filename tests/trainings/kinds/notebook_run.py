"""Training run in notebook cells. Starts an IPython kernel, executes the cells as Jupyter does, and shuts the kernel down.

$PITWALL_KIND contains the arguments of the kind: steps, pace, cells (names in CELLS; a number is a pause in seconds).
"""
import json
import os
import time

import jupyter_client

KIND = json.loads(os.environ["PITWALL_KIND"])
HERE = os.path.dirname(os.path.abspath(__file__))
CELLS = {
    "init": """
import os, sys
sys.path[:0] = [%r, os.environ["PITWALL_CLIENT"]]
import loop, numerics, pitwall
pitwall.init()
compute = numerics.plain(0, 1, loop.KIND["pace"], 1)
def train(at=None, act=None):
    for number in pitwall.steps(range(loop.KIND["steps"])):
        if number == at:
            act()
        compute(number)
""" % HERE,
    "train": "train()",
    "raise": "def act():\n    raise ValueError('no such label')\ntrain(30, act)",
    "interrupt": "def act():\n    raise KeyboardInterrupt\ntrain(30, act)",
    "kill": "train(30, lambda: loop.finish('SIGKILL'))",
    "exit": "train(30, lambda: os._exit(3))",
    "again": "pitwall.init(job=os.environ['PITWALL_JOB'] + '-again')",
    "finish": "pitwall.finish()",
}


def execute(client, code):
    """Executes a cell. Returns when the cell has finished or the kernel has exited."""
    number = client.execute(code)
    while client.is_alive():
        try:
            message = client.get_shell_msg(timeout=1)
        except Exception:
            continue
        if message["parent_header"].get("msg_id") == number:
            content = message["content"]
            print(content["status"], content.get("ename"), content.get("evalue"), flush=True)
            return


def main():
    manager = jupyter_client.KernelManager(kernel_name="python3", shutdown_wait_time=60)  # SIGTERM is sent after half of this time
    manager.start_kernel(env=dict(os.environ))
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=90)
    for cell in KIND["cells"]:
        if isinstance(cell, (int, float)):
            time.sleep(cell)
        elif cell == "restart":
            manager.restart_kernel()
            client.wait_for_ready(timeout=90)
        else:
            execute(client, CELLS[cell])
    client.stop_channels()
    if manager.is_alive():
        manager.shutdown_kernel()
    else:
        manager.cleanup_resources()


if __name__ == "__main__":
    main()
