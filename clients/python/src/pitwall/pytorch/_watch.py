"""watch() and watch_collectives(), which import PyTorch only when they are called."""
from __future__ import annotations

from typing import Any, Iterable, Optional, Protocol

from .._guard import swallow
from ..stats._collections import Collection
from ._options import Options


class Closable(Protocol):
    """Handle that removes hooks."""

    def close(self) -> None:
        """Removes the hooks. Never raises."""


class Handle(Closable, Protocol):
    """Handle returned by watch(). loss: the loss that was passed to watch(). For a function, the wrapper to call instead."""

    loss: Any


def watch(model: Any, optimizer: Any = None, loss: Any = None, collections: Optional[Iterable[Collection]] = None, *, every: int = 500,
          steps: Optional[bool] = None, scaler: Any = None, grad_norm_every: int = 10, inputs: Optional[str] = None, labels: bool = False,
          batch_axis: Optional[int] = None, collectives: bool = True, history_bytes: int = 1 << 30) -> Handle:
    """Hooks a PyTorch model to record phases, losses, the learning rate, the gradient norm, and tensor statistics.

    model: module whose forward() the script calls. With DDP or torch.compile, pass the wrapped module.
    optimizer: one optimizer or a list. A step ends with the last optimizer's step().
    loss: the loss module or function. A function is wrapped, so call handle.loss instead of it. May be omitted if the model's output contains the
    loss.
    collections: defaults to Collection.defaults(every).
    every: default save interval of collections, in steps.
    steps: with None, a step is an iteration of pitwall.steps() or step() if one is running. Otherwise a step lasts from the forward pass to the end
    of the optimizer's step. With False, only pitwall.steps() and step() create steps.
    scaler: GradScaler used to unscale the gradient norm and to record train_loss_scale. Defaults to the scaler that scales the losses.
    grad_norm_every: interval, in steps, between gradient norms of the whole model. 0 disables norms.
    inputs: "images" or "tokens", the kind of the model's first input. The input is passed to log_images() or log_tokens() every ten steps.
    labels: if True, the inputs of the loss module are passed to log_classification() on each step.
    batch_axis: sample axis of the first input.
    collectives: also calls watch_collectives() if torch.distributed is initialized.
    history_bytes: maximum memory for tensor copies that are used to compute changes.

    Returns a handle whose close() removes every hook. A second watch() call for the same model closes the first handle. Must be called from the
    training thread. Never raises.
    """
    try:
        from . import _torch_hooks
        return _torch_hooks.watch(model, optimizer, loss, collections, Options(
            every, steps, scaler, grad_norm_every, inputs, labels, batch_axis, collectives, history_bytes))
    except Exception:
        swallow("watch")
        return _NotWatched(loss)


def watch_collectives(ddp: Any = None) -> Closable:
    """Times torch.distributed functions. Records the phase "collective", the durations, and the number of calls.

    ddp: a DistributedDataParallel module. Its gradient all-reduces are recorded too, because they bypass these functions. This registers a
    communication hook that computes the same result as DDP without a hook.

    Returns a handle with close(). Never raises.
    """
    try:
        from . import _collectives
        return _collectives.watch(ddp)
    except Exception:
        swallow("watch_collectives")
        return _NotWatched(None)


class _NotWatched:
    """Handle returned by watch() and watch_collectives() if the hooks could not be installed."""

    def __init__(self, loss: Any) -> None:
        self.loss = loss

    def close(self) -> None:
        """Does nothing."""
