"""Implementation of checkpoint(). Records each save as a phase, and the saved step once the save completes."""
from __future__ import annotations

from typing import Optional

from .._client import client
from .._guard import swallow
from ..recording._recorder import Recorder
from ._loop import Block, number_or_next


class _Checkpoint(Block):
    __slots__ = ()

    def __enter__(self) -> _Checkpoint:
        try:
            recorder = client.recorder
            if recorder is not None:
                number = number_or_next("checkpoint", self._argument)
                if number is None:  # the saved state is that of the current step, even if the save ends in a later step
                    number = recorder.step_number(recorder.mode())
                self._begun = (recorder, recorder.begin_phase("checkpoint"), number, recorder.mode())
        except Exception:
            swallow("checkpoint")
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *_: object) -> None:
        try:
            if self._begun is not None:
                (recorder, phase, number, mode), self._begun = self._begun, None
                recorder.end_phase(phase)
                if kind is None and number is not None:
                    saved(recorder, number, mode)
        except Exception:
            swallow("checkpoint")


def saved(recorder: Recorder, number: int, mode: str = "train") -> None:
    """Records that a step's checkpoint is complete. The value belongs to the running step, or to the last step if no step is running."""
    recorder.record([("train_checkpoint_step", (), float(number))], mode, recorder.step_number(mode))


def checkpoint(step: Optional[int] = None) -> Block:
    """Times the saving of a checkpoint: `with pitwall.checkpoint(): torch.save(...)`, or as a decorator.

    Records the phase "checkpoint". If the block does not raise, train_checkpoint_step records the saved step.

    step: defaults to the step that is running when the block starts, or else the last one.

    The client itself never raises.
    """
    try:
        return _Checkpoint(step)
    except Exception:
        swallow("checkpoint")
        return _Checkpoint(None)
