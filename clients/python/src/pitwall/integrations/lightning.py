"""Callback for Lightning: `Trainer(..., callbacks=[pitwall.lightning_callback()])`.

A step is an optimizer step, regardless of how many batches its gradients are accumulated over. The step number is the Trainer's global_step before
the step. Phases: dataloader, forward (the training step until its backward pass), backward, optimizer, eval, and checkpoint (all files that
Trainer.save_checkpoint saves).
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple, Union

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback

from ..loop import _checkpoint
from ..pytorch import _torch_hooks
from ..pytorch._grad_scaler import scale_of
from ..pytorch._hook import Hook
from ..pytorch._watch import watch as _watch
from ._progress import Progress, quiet

_MAX_LOSSES = 4096  # maximum number of batch losses per step, in case a step never ends
_EVAL_NAMES = ("val_", "val/", "valid_", "valid/", "validation_", "validation/", "eval_", "eval/")
_TRAIN_NAMES = ("train_", "train/")


class PitwallCallback(Callback):  # type: ignore[misc]  # a subclass of Any where mypy runs without Lightning
    """Callback for Trainer.

    watch: if True or a dict of arguments for pitwall.watch(), hooks the module and its optimizers. Lightning calls training_step() instead of the
    LightningModule, so the hooks only observe the module's parameters and gradients. The additional argument `module` is the path of a submodule that
    training_step() calls, and makes the tensors inside that submodule visible.

    Logged values are read every log_every_n_steps. The loss is read on each step if this does not require waiting for a GPU.
    """

    def __init__(self, watch: Union[bool, Dict[str, Any]] = False) -> None:
        self._options: Optional[Dict[str, Any]] = dict(watch) if isinstance(watch, dict) else {} if watch else None
        self._handle: Any = None
        self._removers: List[Callable[[], object]] = []
        self._progress = Progress()
        self._losses: List[Any] = []
        self._before: Optional[Tuple[Any]] = None  # (the Trainer's own save_checkpoint,) while that function is replaced

    # Training.

    @quiet
    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._progress.stop()
        self._progress = Progress()
        self._progress.begin_loop()
        self._losses = []
        self._time_checkpoints(trainer)
        if self._options is not None and self._handle is None:
            self._install(pl_module, trainer.optimizers, _scaler(trainer))

    @quiet
    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self._progress.fetch(trainer.global_step)

    @quiet
    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self._progress.begin_step(trainer.global_step)
        self._progress.end_phase("dataloader")
        self._progress.phase("forward")

    @quiet
    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
        self._progress.end_phase("forward")
        self._progress.phase("backward")

    @quiet
    def on_after_backward(self, trainer: Any, pl_module: Any) -> None:
        self._progress.end_phase("backward")

    @quiet
    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        self._progress.phase("optimizer")
        if isinstance(self._handle, _torch_hooks.Watch) and _scaler(trainer) is None:
            self._handle._before_optimizer(optimizer)

    @quiet
    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        progress = self._progress
        progress.end_phases()
        loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
        if loss is not None and progress.number is not None and len(self._losses) < _MAX_LOSSES:
            self._losses.append(loss.detach() if hasattr(loss, "detach") else loss)
        if progress.number is None or trainer.global_step <= progress.number:
            progress.phase("dataloader")  # the wait for the next batch of the same step
            return
        progress.end_step()
        self._log_step(trainer)
        if not trainer.is_last_batch:
            progress.fetch(trainer.global_step)

    def _log_step(self, trainer: Any) -> None:
        values: Dict[str, Any] = {}
        due = trainer.global_step % max(trainer.log_every_n_steps, 1) == 0
        losses, self._losses = self._losses, []
        # Lightning passes each batch's share of the step's loss. If a loss module is hooked, its losses are sent instead.
        if losses and not (self._options or {}).get("loss") and (due or not getattr(losses[0], "is_cuda", False)):
            values["loss"] = sum(float(loss) for loss in losses)
        if self._handle is None and trainer.optimizers:
            values["learning_rate"] = trainer.optimizers[0].param_groups[0].get("lr")
            scale = scale_of(_scaler(trainer))
            if scale is not None and (due or scale.is_cpu):
                values["loss_scale"] = scale
        if due:
            values["epoch"] = trainer.current_epoch
            for name, value in trainer.callback_metrics.items():
                if not name.startswith(_EVAL_NAMES):
                    values.setdefault(_without(name, _TRAIN_NAMES), value)
        self._progress.log(values)

    @quiet
    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._progress.rest()

    @quiet
    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._progress.stop()

    @quiet
    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._progress.stop()
        self._close(trainer)

    @quiet
    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._close(trainer)

    def _install(self, module: Any, optimizers: List[Any], scaler: Any) -> None:
        options = dict({"scaler": scaler}, **(self._options or {}))
        path = options.pop("module", "")
        # Lightning runs the passes as a closure inside the optimizer's step, so hooks before the step would run before the gradients exist.
        # on_before_optimizer_step() replaces these hooks. With a scaler, the passes run before the optimizer's step, and the step may be skipped.
        self._handle = _watch(module.get_submodule(path), **options)
        if isinstance(self._handle, _torch_hooks.Watch):
            self._removers = [
                optimizer.register_step_post_hook(Hook(
                    self._handle._after_optimizer if optimizer is optimizers[-1] else self._handle._after_other)).remove
                for optimizer in optimizers]
            if scaler is not None:
                self._removers += [optimizer.register_step_pre_hook(Hook(self._handle._before_optimizer)).remove
                                   for optimizer in optimizers]
                self._handle._scaling.follow(optimizers[-1:])

    def _close(self, trainer: Any) -> None:
        removers, self._removers = self._removers, []
        for remove in removers:
            remove()
        if self._handle is not None:
            handle, self._handle = self._handle, None
            handle.close()
        if self._before is not None:
            (before,), self._before = self._before, None
            if getattr(vars(trainer).get("save_checkpoint"), "_pitwall", None) is self:  # otherwise other code has wrapped the function again
                del trainer.save_checkpoint
                if before is not None:
                    trainer.save_checkpoint = before

    # Evaluations and checkpoints.

    @quiet
    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.sanity_checking:
            self._progress.begin_eval()

    @quiet
    def on_validation_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int,
                                dataloader_idx: int = 0) -> None:
        self._progress.fetch_eval()

    @quiet
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        progress = self._progress
        if trainer.sanity_checking or not progress.in_eval:
            return
        progress.end_eval()
        progress.log({_without(name, _EVAL_NAMES): value for name, value in trainer.callback_metrics.items()
                      if name.startswith(_EVAL_NAMES)}, "eval")
        if trainer.state.fn == "fit" and not trainer.is_last_batch:
            progress.fetch(trainer.global_step)

    def _time_checkpoints(self, trainer: Any) -> None:
        if getattr(vars(trainer).get("save_checkpoint"), "_pitwall", None) is not None:
            return
        original = trainer.save_checkpoint

        def save_checkpoint(*arguments: Any, **named: Any) -> Any:
            fetching = self._before_save()
            with _checkpoint.checkpoint(self._progress.number):
                result = original(*arguments, **named)
            if fetching:
                self._after_save(trainer)
            return result
        wrapper: Any = save_checkpoint
        wrapper._pitwall = self
        self._before = (vars(trainer).get("save_checkpoint"),)
        trainer.save_checkpoint = wrapper

    @quiet
    def _before_save(self) -> bool:
        fetching = self._progress.fetching
        self._progress.rest()
        return fetching

    @quiet
    def _after_save(self, trainer: Any) -> None:
        self._progress.fetch(trainer.global_step)


def _scaler(trainer: Any) -> Any:
    """Returns the GradScaler of float16 mixed precision, or None."""
    return getattr(trainer.precision_plugin, "scaler", None)


def _without(name: str, prefixes: Tuple[str, ...]) -> str:
    for prefix in prefixes:
        if name.startswith(prefix):
            return name[len(prefix):]
    return name
