"""GradScalers of watched models. Records the scale of each step, and the skipped steps.

If a scaler finds a nonfinite gradient, it skips the optimizer's step and therefore also the optimizer's hooks. For this reason, GradScaler's methods
`scale` and `step` are wrapped while an optimizer is watched. The wrappers also identify the scaler that belongs to a model.
"""
from __future__ import annotations

import functools
import threading
import weakref
from typing import Any, Callable, Dict, Iterable, List, Optional, Protocol, Union

import torch

from .._guard import swallow

try:
    from torch.amp import GradScaler
except ImportError:  # before PyTorch 2.3
    from torch.cuda.amp import GradScaler

_compiler = getattr(torch, "compiler", None)
_compiling = getattr(_compiler, "is_dynamo_compiling", None) or getattr(_compiler, "is_compiling", None) or (lambda: False)
AddNumber = Callable[[str, Any], None]  # add(metric, number)


class Watched(Protocol):
    """Watched model."""

    _has_scaler: bool


class _Methods:
    """Wrappers of GradScaler's methods. They are installed while any optimizer is watched.

    Threads: follow() and leave() are thread-safe.
    """

    def __init__(self) -> None:
        self.scaled = 0                          # number of losses scaled so far
        self.latest: Callable[[], Any] = _none   # weak reference to the scaler that scaled the last loss
        self._lock = threading.Lock()
        # Optimizer that ends the training step -> weak reference to its Scaling.
        self._followers: weakref.WeakKeyDictionary[Any, weakref.ref[Scaling]] = weakref.WeakKeyDictionary()
        self._wrappers: Dict[str, Any] = {}      # method name -> its wrapper while installed

    def follow(self, optimizer: Any, scaling: Scaling) -> None:
        """Informs the Scaling about each step of the optimizer that a scaler runs."""
        with self._lock:
            self._followers[optimizer] = weakref.ref(scaling)
            for name, wrap in (("scale", _wrap_scale), ("step", _wrap_step)):
                if name not in self._wrappers:
                    self._wrappers[name] = wrap(getattr(GradScaler, name))
                    setattr(GradScaler, name, self._wrappers[name])

    def leave(self, optimizers: Iterable[Any], scaling: Scaling) -> None:
        """Reverts follow(), and removes the wrappers after the last optimizer."""
        with self._lock:
            for optimizer in optimizers:
                if self._followers.get(optimizer) is weakref.ref(scaling):
                    del self._followers[optimizer]
            if self._followers:
                return
            for name, wrapper in list(self._wrappers.items()):
                if vars(GradScaler).get(name) is wrapper:  # otherwise other code has wrapped the method again
                    setattr(GradScaler, name, wrapper.__wrapped__)
                    del self._wrappers[name]

    def follower(self, scaler: Any, optimizer: Any) -> Optional[Scaling]:
        """Returns the optimizer's Scaling if it has one and the scaler is enabled."""
        reference = self._followers.get(optimizer)
        return reference() if reference is not None and scaler.is_enabled() else None


def _none() -> None:
    return None


class Scaling:
    """Scaler of one watched model: the scaler passed to watch(), or the scaler that steps the model's optimizer.

    Before the optimizer's first step, the scaler is the one that has scaled a loss since the previous check.
    """

    def __init__(self, watched: Watched, given: Any, skipped: Callable[[Any], object]) -> None:
        """watched: the Watch. skipped(optimizer): called after a step that the scaler has skipped."""
        self._watched, self._given, self._on_skipped = weakref.ref(watched), given, skipped
        self._found: Union[None, bool, Callable[[], Any]] = None  # weak reference to the scaler that last stepped the optimizer; False if the script steps it without a scaler
        self._scaled = _methods.scaled  # its value at the last check
        self._running = False    # whether the scaler's step is running
        self._stepped = False    # whether the optimizer has stepped within the scaler's step
        self._skipped: Any = 0   # a number, or a tensor with one element
        self._recorded: Optional[int] = None  # last step whose scale was recorded
        self._optimizers: List[weakref.ref[Any]] = []

    def follow(self, optimizers: Iterable[Any]) -> None:
        """Calls skipped() when a step of one of these optimizers is skipped. A step of such an optimizer ends the training step."""
        for optimizer in optimizers:
            self._optimizers.append(weakref.ref(optimizer))
            _methods.follow(optimizer, self)

    def close(self) -> None:
        optimizers = [reference() for reference in self._optimizers]
        self._optimizers = []
        _methods.leave([optimizer for optimizer in optimizers if optimizer is not None], self)

    def scaler(self) -> Any:
        if self._given is not None or self._found is False:
            return self._given
        if callable(self._found):
            return self._found()
        if self._scaled == _methods.scaled:
            return None
        self._scaled = _methods.scaled
        self._set_has_scaler(True)
        return _methods.latest()

    def scale(self) -> Optional[torch.Tensor]:
        """Returns the scale without waiting for its device. Returns None if there is no enabled scaler or it has not been used yet."""
        return scale_of(self.scaler())

    def is_unscaled(self, optimizer: Any) -> bool:
        """Returns whether the scaler has already divided the optimizer's gradients by the scale."""
        states = getattr(self.scaler(), "_per_optimizer_states", None) or {}
        stage = states.get(id(optimizer), {}).get("stage")
        return stage is not None and getattr(stage, "name", "READY") != "READY"

    def record_scale(self, add: AddNumber, step: Optional[int], scale: Any) -> None:
        """Records the scale once per step."""
        if scale is not None and (step is None or step != self._recorded):
            self._recorded = step
            add("train_loss_scale", scale)

    def after_optimizer(self, optimizer: Any, add: AddNumber, step: Optional[int]) -> None:
        """Records the scale and the number of skipped steps. Called after the optimizer that ends the training step has run or has been skipped."""
        if self._running:
            self._stepped = True
        elif self._given is None:
            self._found = False
            self._set_has_scaler(False)
        scale = self.scale()
        if scale is None:
            return
        found = getattr(optimizer, "found_inf", None)  # a fused optimizer skips the step by itself
        if isinstance(found, torch.Tensor):
            self._skipped = self._skipped + found.detach()
        self.record_scale(add, step, scale)
        add("train_skipped_steps_total", self._skipped)
        self._recorded = None

    def count_skipped(self) -> None:
        self._skipped = self._skipped + 1

    def _set_has_scaler(self, found: bool) -> None:
        watched = self._watched()
        if watched is not None:
            watched._has_scaler = found

    def _begin(self, scaler: Any) -> None:
        if not callable(self._found) or self._found() is not scaler:
            self._found = weakref.ref(scaler)
            self._set_has_scaler(True)
        self._running, self._stepped = True, False

    def _end(self, optimizer: Any) -> None:
        if not self._stepped:
            self._on_skipped(optimizer)


def scale_of(scaler: Any) -> Optional[torch.Tensor]:
    """Returns the scale of a GradScaler without waiting for its device. Returns None if there is no enabled scaler or it has not been used yet."""
    if scaler is None or not getattr(scaler, "is_enabled", lambda: True)():
        return None
    scale = getattr(scaler, "_scale", None)
    return scale.detach() if isinstance(scale, torch.Tensor) else None


def _wrap_scale(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def scale(self: Any, *arguments: Any, **named: Any) -> Any:
        if not _compiling():
            _methods.scaled, _methods.latest = _methods.scaled + 1, weakref.ref(self)
        return original(self, *arguments, **named)
    return scale


def _wrap_step(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def step(self: Any, optimizer: Any, *arguments: Any, **named: Any) -> Any:
        scaling: Optional[Scaling] = None
        try:
            scaling = _methods.follower(self, optimizer)
            if scaling is not None:
                scaling._begin(self)
        except Exception:
            swallow("a scaler's step")
        try:
            result = original(self, optimizer, *arguments, **named)
            if scaling is not None:
                try:
                    scaling._end(optimizer)
                except Exception:
                    swallow("a scaler's step")
            return result
        finally:
            if scaling is not None:
                scaling._running = False
    return step


_methods = _Methods()
