"""Phase `pitwall`: the client's own share of a training step, if it exceeds a few microseconds.

Rules exclude this phase from a step's time, as they exclude checkpoint and eval. Therefore, the phase is not timed inside those phases or inside
itself, where it would be excluded twice.
"""
from __future__ import annotations

from typing import Optional

from ..recording._core import Phase
from ..recording._recorder import Recorder

PHASE = "pitwall"
_LEFT_OUT = frozenset((PHASE, "checkpoint", "eval"))


class OwnTime:
    """A `with` block that times the phase. phases, mode: the phases and mode of another thread, from the recorder's thread_phases()."""

    __slots__ = ("_recorder", "_phases", "_mode", "_begun")

    def __init__(self, recorder: Optional[Recorder], phases: Optional[list[Phase]] = None, mode: Optional[str] = None) -> None:
        self._recorder, self._phases, self._mode = recorder, phases, mode
        self._begun: Optional[Phase] = None

    def __enter__(self) -> OwnTime:
        recorder = self._recorder
        if recorder is not None:
            phases = self._phases if self._phases is not None else recorder.thread_phases()
            if not any(phase[0] in _LEFT_OUT for phase in phases):
                self._begun = recorder.begin_phase(PHASE, phases, self._mode)
        return self

    def __exit__(self, *_: object) -> None:
        if self._recorder is not None and self._begun is not None:
            self._recorder.end_phase(self._begun, True, self._phases)
