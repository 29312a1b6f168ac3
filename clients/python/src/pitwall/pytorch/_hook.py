"""Hook on a module, a tensor, or an optimizer."""
from __future__ import annotations

import contextlib
from typing import Any, Callable, ClassVar, Tuple

import torch

from .._guard import swallow

_compiler: Any = getattr(torch, "compiler", None)
_flagged = hasattr(_compiler, "_is_compiling_flag") and hasattr(_compiler, "is_dynamo_compiling")  # torch.export sets the flag
_tracing = _compiler.is_dynamo_compiling if _flagged else getattr(_compiler, "is_compiling", None) or (lambda: False)


class Hook:
    """Bound method used as a hook. Dynamo traces hooks, but treats this one as empty."""

    capturing: ClassVar[Any] = None  # returns whether a CUDA graph is being captured; set once a model on a GPU is watched

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    def __call__(self, *arguments: Any) -> None:
        if _tracing() or (_flagged and _compiler._is_compiling_flag):
            return None
        try:
            capturing = self.capturing
            if capturing is not None and capturing():
                return None  # a captured graph is replayed without the hook, and the hook must not wait
            self._function(*arguments)
        except Exception:
            swallow("a hook")
        return None

    def __reduce__(self) -> Tuple[Any, ...]:
        # In copies and pickles, the hook becomes a standard-library function that accepts any argument and does nothing.
        return getattr, (contextlib.nullcontext(), "__exit__")
