"""Implementation of profile(). The profiler itself is in pitwall.capture."""
from __future__ import annotations

from os import PathLike
from typing import Collection, Iterable, Optional, Union

from .._client import client
from .._guard import swallow
from ..capture._profile import request


def profile(steps: Union[int, Iterable[int]] = 2, start: Optional[int] = None, *, tools: Union[str, Collection[str], None] = None,
            trace_dir: Union[str, PathLike[str], None] = None) -> None:
    """Profiles training steps: operator times, communication time, and computation time.

    steps: the number of steps, or a list of step numbers ([100, 200]). At most 100 steps.
    start: number of the first step; defaults to the next step that starts.
    tools: "torch" (torch.profiler: CPU, and CUDA if there is a GPU), "python" (cProfile), or both. Defaults to "torch" if the script has imported
    torch, else "python".
    trace_dir: directory for the Chrome traces of torch.profiler, pitwall-rank<R>-step<N>.json.

    A second call adds its steps to those already requested. A step in both calls is profiled once, with the tools of both. Profiled steps are slower.
    Never raises.
    """
    try:
        recorder = client.recorder
        if recorder is not None:
            request(recorder, steps, start, tools, trace_dir)
    except Exception:
        swallow("profile")
