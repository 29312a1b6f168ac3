"""Hooks around an optimizer's step. The module uses the optimizer's own hooks if they exist (PyTorch 2.0 and later), and otherwise wraps its method."""
from __future__ import annotations

import types
from typing import Any, Callable

import torch

_HOOKS = "_optimizer_step_pre_hooks"


def unwrapped(optimizer: Any) -> Any:
    """Unwraps an optimizer whose wrapper has no hooks of its own, such as the wrappers from accelerate and Lightning Fabric."""
    while hasattr(torch.optim.Optimizer, "register_step_pre_hook"):
        inner, hooks = getattr(optimizer, "optimizer", None), vars(optimizer).get(_HOOKS)
        if not isinstance(inner, torch.optim.Optimizer) or (hooks is not None and hooks is not vars(inner).get(_HOOKS)):
            break
        optimizer = inner
    return optimizer


def hook_step(optimizer: Any, before: Callable[..., None], after: Callable[..., None]) -> Callable[[], None]:
    """Calls before(optimizer, …) and after(optimizer, …) around each step. Returns a function that removes the hooks."""
    if hasattr(optimizer, "register_step_pre_hook"):
        handles = [optimizer.register_step_pre_hook(before), optimizer.register_step_post_hook(after)]

        def remove() -> None:
            for handle in handles:
                handle.remove()
        return remove

    original = optimizer.step
    had = "step" in vars(optimizer)
    active = [True]

    def step(self: Any, *arguments: Any, **named: Any) -> Any:
        if not active[0]:
            return original(*arguments, **named)
        before(self)
        result = original(*arguments, **named)
        after(self)
        return result

    # Learning rate schedulers check this attribute. They also read `__func__`, so the wrapper must be a bound method.
    function: Any = step
    function._with_counter = getattr(original, "_with_counter", False)
    wrapped = optimizer.step = types.MethodType(step, optimizer)

    def restore() -> None:
        active[0] = False
        if vars(optimizer).get("step") is wrapped:  # otherwise other code has wrapped the method again
            if had:
                optimizer.step = original
            else:
                del optimizer.step
    return restore
