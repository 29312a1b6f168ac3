"""GradScalers of watched models. Records the scale of each step, and the skipped steps.

If a scaler finds a nonfinite gradient, it skips the optimizer's step and therefore also the optimizer's hooks. For this reason, GradScaler's methods
`scale` and `step` are wrapped while an optimizer is watched. The wrappers also identify the scaler that belongs to a model.
"""
import functools
import threading
import weakref

import torch

from .._guard import swallow

try:
    from torch.amp import GradScaler
except ImportError:  # before PyTorch 2.3
    from torch.cuda.amp import GradScaler

_compiler = getattr(torch, "compiler", None)
_compiling = getattr(_compiler, "is_dynamo_compiling", None) or getattr(_compiler, "is_compiling", None) or (lambda: False)
_lock = threading.Lock()
_followers = weakref.WeakKeyDictionary()  # optimizer that ends the training step -> weak reference to its Scaling
_wrappers = {}                            # method name -> its wrapper while installed
_scaled = 0                               # number of losses scaled so far
_latest = None                            # weak reference to the scaler that scaled the last loss


class Scaling:
    """Scaler of one watched model: the scaler passed to watch(), or the scaler that steps the model's optimizer.

    Before the optimizer's first step, the scaler is the one that has scaled a loss since the previous check.
    """

    def __init__(self, watched, given, skipped):
        """watched: the Watch. skipped(optimizer): called after a step that the scaler has skipped."""
        self._watched, self._given, self._on_skipped = weakref.ref(watched), given, skipped
        self._found = None       # weak reference to the scaler that last stepped the optimizer; False if the script steps it without a scaler
        self._scaled = _scaled   # value of the global _scaled at the last check
        self._running = False    # whether the scaler's step is running
        self._stepped = False    # whether the optimizer has stepped within the scaler's step
        self._skipped = 0        # a number, or a tensor with one element
        self._recorded = None    # last step whose scale was recorded
        self._optimizers = []    # weak references

    def follow(self, optimizers):
        """Calls skipped() when a step of one of these optimizers is skipped. A step of such an optimizer ends the training step."""
        with _lock:
            for optimizer in optimizers:
                _followers[optimizer] = weakref.ref(self)
                self._optimizers.append(weakref.ref(optimizer))
                _install()

    def close(self):
        with _lock:
            for reference in self._optimizers:
                optimizer = reference()
                if optimizer is not None and _followers.get(optimizer) is weakref.ref(self):
                    del _followers[optimizer]
            self._optimizers = []
            if not _followers:
                _remove()

    def scaler(self):
        if self._given is not None or self._found is False:
            return self._given
        if self._found is not None:
            return self._found()
        if self._scaled == _scaled:
            return None
        self._scaled = _scaled
        self._set_has_scaler(True)
        return _latest()

    def scale(self):
        """Returns the scale without waiting for its device. Returns None if there is no enabled scaler or it has not been used yet."""
        return scale_of(self.scaler())

    def is_unscaled(self, optimizer):
        """Returns whether the scaler has already divided the optimizer's gradients by the scale."""
        states = getattr(self.scaler(), "_per_optimizer_states", None) or {}
        stage = states.get(id(optimizer), {}).get("stage")
        return stage is not None and getattr(stage, "name", "READY") != "READY"

    def record_scale(self, add, step, scale):
        """Records the scale once per step."""
        if scale is not None and (step is None or step != self._recorded):
            self._recorded = step
            add("train_loss_scale", scale)

    def after_optimizer(self, optimizer, add, step):
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

    def count_skipped(self):
        self._skipped = self._skipped + 1

    def _set_has_scaler(self, found):
        watched = self._watched()
        if watched is not None:
            watched._has_scaler = found

    def _begin(self, scaler):
        if self._found is None or self._found is False or self._found() is not scaler:
            self._found = weakref.ref(scaler)
            self._set_has_scaler(True)
        self._running, self._stepped = True, False

    def _end(self, optimizer):
        if not self._stepped:
            self._on_skipped(optimizer)


def scale_of(scaler):
    """Returns the scale of a GradScaler without waiting for its device. Returns None if there is no enabled scaler or it has not been used yet."""
    if scaler is None or not getattr(scaler, "is_enabled", lambda: True)():
        return None
    scale = getattr(scaler, "_scale", None)
    return scale.detach() if isinstance(scale, torch.Tensor) else None


def _follower(scaler, optimizer):
    """Returns the optimizer's Scaling if it has one and the scaler is enabled."""
    reference = _followers.get(optimizer)
    return reference() if reference is not None and scaler.is_enabled() else None


def _wrap_scale(original):
    @functools.wraps(original)
    def scale(self, *arguments, **named):
        global _scaled, _latest
        if not _compiling():
            _scaled, _latest = _scaled + 1, weakref.ref(self)
        return original(self, *arguments, **named)
    return scale


def _wrap_step(original):
    @functools.wraps(original)
    def step(self, optimizer, *arguments, **named):
        scaling = None
        try:
            scaling = _follower(self, optimizer)
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


def _install():
    for name, wrap in (("scale", _wrap_scale), ("step", _wrap_step)):
        if name not in _wrappers:
            _wrappers[name] = wrap(getattr(GradScaler, name))
            setattr(GradScaler, name, _wrappers[name])


def _remove():
    for name, wrapper in list(_wrappers.items()):
        if vars(GradScaler).get(name) is wrapper:  # otherwise other code has wrapped the method again
            setattr(GradScaler, name, wrapper.__wrapped__)
            del _wrappers[name]
