"""checkpoint(): the phase of a save, and the step whose state is saved when it completes."""
from .. import _lifecycle
from .._guard import swallow
from ._loop import Block, _number_or_next


class _Checkpoint(Block):
    __slots__ = ()

    def __enter__(self):
        try:
            recorder = _lifecycle.recorder
            if recorder is not None:
                number = _number_or_next("checkpoint", self._argument)
                if number is None:  # the state saved is the current one, even if saving lasts into later steps
                    number = recorder.step_number(recorder.mode())
                self._begun = (recorder, recorder.begin_phase("checkpoint"), number, recorder.mode())
        except Exception:
            swallow("checkpoint")
        return self

    def __exit__(self, kind, *_):
        try:
            if self._begun is not None:
                (recorder, phase, number, mode), self._begun = self._begun, None
                recorder.end_phase(phase)
                if kind is None and number is not None:
                    saved(recorder, number, mode)
        except Exception:
            swallow("checkpoint")


def saved(recorder, number, mode="train"):
    """Records that the checkpoint of a step is complete. The value belongs to the running step, or else the last one."""
    recorder.record([("train_checkpoint_step", (), float(number))], mode, recorder.step_number(mode))


def checkpoint(step=None):
    """Times the saving of a checkpoint: `with pitwall.checkpoint(): torch.save(...)`, or as a decorator.

    Records the phase "checkpoint". If the block does not raise, train_checkpoint_step records the saved step. step: defaults to the
    step that runs when the block begins, or else the last one. Never raises itself.
    """
    try:
        return _Checkpoint(step)
    except Exception:
        swallow("checkpoint")
        return _Checkpoint(None)
