"""The phase `pitwall`: what the client itself takes of a training step, where that is more than a few microseconds.

Rules leave it out of a step's time, as they do with checkpoint and eval. So it is not timed inside of these (it would be
left out twice), nor inside of itself.
"""
PHASE = "pitwall"
_LEFT_OUT = frozenset((PHASE, "checkpoint", "eval"))


class OwnTime:
    """A `with` block. phases and mode: another thread's, as the recorder's thread_phases() gave them."""

    __slots__ = ("_recorder", "_phases", "_mode", "_begun")

    def __init__(self, recorder, phases=None, mode=None):
        self._recorder, self._phases, self._mode = recorder, phases, mode
        self._begun = None

    def __enter__(self):
        recorder = self._recorder
        if recorder is not None:
            phases = self._phases if self._phases is not None else recorder.thread_phases()
            if not any(phase[0] in _LEFT_OUT for phase in phases):
                self._begun = recorder.begin_phase(PHASE, phases, self._mode)
        return self

    def __exit__(self, *_):
        if self._begun is not None:
            self._recorder.end_phase(self._begun, True, self._phases)
