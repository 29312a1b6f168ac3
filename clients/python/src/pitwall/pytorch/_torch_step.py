"""Steps, modes, and phases of a watched model, derived from its forward pass, the backward pass of its loss, and its optimizer.

If the script times a phase itself (`with pitwall.phase("forward")`), the hooks do not record that phase. While the script is in train mode, a model
in eval state creates eval steps. Each forward pass is one such step, inside a phase "eval" of the training step.
"""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, List, Optional, Tuple

from .._client import client
from ..recording import _recorder
from ..recording._core import Begun, Phase, RunningPhases
from . import _collective_times, _operations


if TYPE_CHECKING:
    _LoopState = object
else:
    _LoopState = _recorder.native.LoopState if _recorder.native else object


class Loop(_LoopState):
    def __init__(self, own_steps: object) -> None:
        self._own_steps = bool(own_steps)  # whether to create steps if the script does not
        self._step_begun: Optional[Tuple[_recorder.Recorder, Begun]] = None  # a step that the hooks started
        self._ends_with_forward = False
        self._running: RunningPhases = {}
        self._end = functools.partial(_recorder.Recorder.end_running, self._running)
        self.after_backward = functools.partial(self._end, "backward")
        self.phases: List[Phase] = []  # of the training thread
        # The pending reduction: recorder, number, device, and start as an event or a time.
        self._gradients: Optional[Tuple[_recorder.Recorder, Optional[int], Any, Any]] = None
        self.recorder: Optional[_recorder.Recorder] = None  # recorder of the last forward pass
        self.mode = "train"
        self.step: Optional[int] = None  # running step of the mode, or None

    def before_forward(self, training: bool) -> bool:
        """Starts the phase "forward" or "eval". Returns False if there is no recorder."""
        recorder = self.recorder = client.recorder
        if self._running:
            for phase in list(self._running):  # phases of an earlier pass that raised
                if phase != "optimizer":
                    self._end(phase, False)
        if recorder is None:
            self._step_begun = None
            return False
        self.phases, outer, step = recorder.here(self._own_steps)
        implied = outer == "train" and not training
        self.mode = "eval" if implied else outer
        if self._ends_with_forward or implied:
            if self._ends_with_forward:
                self._end_step()
            step = recorder.step_number(self.mode, self._own_steps or implied)
        self.step = step
        if step is None and (self._own_steps or implied):
            recorder.set_mode(self.mode)
            try:
                begun = recorder.begin_step()
            finally:
                recorder.set_mode(outer)
            if begun is not None and self.mode != "train":
                self._ends_with_forward = True
            self._step_begun = (recorder, begun) if begun is not None else self._step_begun
            self.step = recorder.step_number(self.mode)
        recorder.begin_once(self._running, "eval" if implied else "forward", self.phases, outer)
        return True

    def after_forward(self) -> None:
        self._end("eval" if "eval" in self._running else "forward")
        if self._ends_with_forward:
            self._end_step()

    def before_backward(self) -> None:
        """Starts the phase "backward". May be called by an autograd thread; the phase belongs to the training thread."""
        if self.recorder is not None and self.recorder is client.recorder:
            self.recorder.begin_once(self._running, "backward", self.phases, self.mode)

    def before_wait(self, device: Any) -> None:
        """Starts the wait inside the phase "backward", after this rank's gradients are computed and while the other ranks' gradients are pending.
        device: the GPU that waits instead of the host, or None if the host waits."""
        recorder = self.recorder
        if recorder is None or recorder is not client.recorder:
            return
        number = _operations.of(recorder).begin("gradients", "all_reduce", 0)
        times = _collective_times.of(recorder)
        if device is not None:
            self._gradients = recorder, number, device, times.mark(device)
        else:
            self._gradients = recorder, number, None, recorder.now()
            recorder.begin_once(self._running, "collective", self.phases, self.mode)

    def after_wait(self) -> None:
        self._end("collective")
        if self._gradients is None:
            return
        (recorder, number, device, begun), self._gradients = self._gradients, None
        times = _collective_times.of(recorder)
        if device is not None:
            times.add_pair(self.mode, "gradients", device, begun)
        else:
            _operations.of(recorder).complete("gradients", number)
            times.add(self.mode, "gradients", (recorder.now() - begun) / 1e9)

    def before_optimizer(self) -> bool:
        recorder = self.recorder = client.recorder
        if recorder is None:
            return False
        self.phases, self.mode, self.step = recorder.here()
        if "backward" in self._running:
            self._end("backward")
        recorder.begin_once(self._running, "optimizer", self.phases, self.mode)
        return True

    def after_optimizer(self) -> None:
        self._end("optimizer")
        if self.recorder is not None:
            self.step = self.recorder.step_number(self.mode)  # a closure's forward pass may have started a step

    def end_step(self) -> None:
        """Ends the step after the optimizer has run, if the hooks started the step."""
        if not self._ends_with_forward and self._step_begun is not None:
            recorder = self._step_begun[0]
            self._end_step()
            recorder.loops.end_step()

    def _end_step(self) -> None:
        begun, self._step_begun, self._ends_with_forward = self._step_begun, None, False
        if begun is not None:
            begun[0].end_step(begun[1])
