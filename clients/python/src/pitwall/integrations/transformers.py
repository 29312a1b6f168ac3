"""Callback for Hugging Face's Trainer: `Trainer(..., callbacks=[pitwall.transformers_callback()])`.

A step is an optimizer step, regardless of how many batches its gradients are accumulated over. The step number is the Trainer's global_step before
the step, starting at 0. Phases: dataloader (the wait for the step's batches), eval, and checkpoint. With watch, also forward, backward, and
optimizer.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import torch
from transformers import TrainerCallback

from ..loop import _checkpoint
from ..pytorch._grad_scaler import scale_of
from ..pytorch._watch import watch as _watch
from ._progress import Progress, quiet


class PitwallCallback(TrainerCallback):  # type: ignore[misc]  # a subclass of Any where mypy runs without transformers
    """Callback for Trainer. watch: if True or a dict of arguments for pitwall.watch(), hooks the model and its optimizer."""

    def __init__(self, watch: Union[bool, Dict[str, Any]] = False) -> None:
        self._options: Optional[Dict[str, Any]] = dict(watch) if isinstance(watch, dict) else {} if watch else None
        self._handle: Any = None
        self._removers: List[Callable[[], object]] = []
        self._progress = Progress("transformers")
        self._training = False
        self._scaler: Any = None

    # Training.

    @quiet
    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None, **_: Any) -> None:
        self._close()
        self._progress.stop()
        self._progress = Progress("transformers")
        self._progress.begin_loop()
        self._training = True
        self._scaler = getattr(optimizer, "scaler", None)  # accelerate's GradScaler
        if self._options is not None and model is not None:
            self._install(model, optimizer)

    @quiet
    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.fetch(state.global_step)

    @quiet
    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.begin_step(state.global_step)

    @quiet
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.end_step()
        if not control.should_log:  # values to be logged are first read from the device, which may wait
            self._next(state, control)

    @quiet
    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._progress.rest()
        if control.should_evaluate or control.should_save:
            self._next(state, control)

    @quiet
    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._training = False
        self._progress.stop()
        self._close()

    def _next(self, state: Any, control: Any) -> None:
        """Follows the order of the Trainer, which logs, evaluates, saves, and then fetches the next batch."""
        if control.should_evaluate:
            self._progress.begin_eval()
        elif control.should_save:
            self._progress.rest()
            self._progress.between("checkpoint")
        else:
            self._progress.fetch(state.global_step)

    # Evaluations and checkpoints.

    @quiet
    def on_prediction_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._progress.in_eval:
            self._progress.fetch_eval()
        else:  # the script called evaluate(), and the first batch has already ended
            self._progress.begin_eval()

    @quiet
    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._after_eval(state, control)

    @quiet
    def on_predict(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._after_eval(state, control)

    def _after_eval(self, state: Any, control: Any) -> None:
        self._progress.end_eval()
        if self._training and self._progress.number is not None:
            self._next(state, control)

    @quiet
    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        progress = self._progress
        progress.rest("checkpoint")
        if progress.number is not None and progress.recorder is not None:
            _checkpoint.saved(progress.recorder, progress.number)
        progress.fetch(state.global_step)

    # Values.

    @quiet
    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        progress = self._progress
        logs = dict(logs or {})
        if "total_flos" in logs:  # the final summary, whose loss is the mean over all steps
            self._training = False
            progress.rest()
            return
        evaluated = {name[len("eval_"):]: value for name, value in logs.items() if name.startswith("eval_")}
        if evaluated:  # the last log of an evaluation
            progress.end_eval()
            progress.log(evaluated, "eval")
            return
        if self._handle is not None:  # the handle sends the values of each step
            logs.pop("learning_rate", None)
            if (self._options or {}).get("grad_norm_every", 10):
                logs.pop("grad_norm", None)
        else:
            scale = scale_of(self._scaler)
            if scale is not None:
                logs["loss_scale"] = scale
        progress.log(logs)
        if self._training and progress.number is not None and not progress.in_step and not progress.in_eval:
            self._next(state, control)

    # Hooks.

    def _install(self, model: Any, optimizer: Any) -> None:
        options = dict({"optimizer": getattr(optimizer, "optimizer", optimizer), "scaler": self._scaler}, **(self._options or {}))
        handle = self._handle = _watch(model, **options)
        self._removers.append(handle.close)
        if options.get("loss") is None and hasattr(handle, "_finds_loss"):
            # The loss in the model's output may be a batch's share of the step's loss. Therefore, the client sends the loss that the Trainer logs,
            # and uses the model's loss only to detect the start of the backward pass.
            handle._finds_loss = False
            self._removers.append(model.register_forward_hook(_LossSeen(handle)).remove)

    def _close(self) -> None:
        removers, self._removers = self._removers, []
        self._handle = None
        for remove in removers:
            remove()


class _LossSeen:
    def __init__(self, handle: Any) -> None:
        self._handle = handle

    @quiet
    def __call__(self, module: object, inputs: object, output: Any) -> None:
        loss = output.get("loss") if isinstance(output, dict) else getattr(output, "loss", None)
        found = [loss] if isinstance(loss, torch.Tensor) else \
            [part for part in (output.values() if isinstance(output, dict) else ()) if isinstance(part, torch.Tensor)]
        for tensor in found:
            self._handle._await_backward(tensor)

    def __reduce__(self) -> Tuple[Any, ...]:  # a copy of the model must not require pitwall
        import contextlib
        return getattr, (contextlib.nullcontext(), "__exit__")
