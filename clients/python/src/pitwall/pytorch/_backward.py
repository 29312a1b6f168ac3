"""Detects the start and end of a backward pass at the function that hands the pass to autograd's engine.

A hook on the loss and a callback of the engine would provide the same information, but together they take 20 µs, or 70 µs with cold caches.
Therefore, while any model is watched, this module replaces the PyTorch function through which `Tensor.backward`, `torch.autograd.backward`, and
`torch.autograd.grad` reach the engine. The replacement calls the original. If the pass starts at an expected loss, the replacement also calls our
functions before and after. All other passes, and passes inside another pass, are unchanged.

Not every training script uses that function or starts the pass at the loss itself. For example, a GradScaler starts the pass at the scaled loss.
Therefore, each watched model starts with a hook on its loss, which is no longer used once it fires in a recognized pass. An optimizer step without a
recognized pass restores the hook, and after MOST_MISSED such steps the hook is permanent.
"""
from __future__ import annotations

import functools
import threading
import weakref
from collections import deque
from types import CodeType
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple

import torch

from .._guard import swallow
from ..recording._recorder import native

PROVING, BY_TENSOR, BY_NODE = 0, 1, 2  # recognition method; PROVING: the method is not known yet, and the hook is installed
AWAITED = 8      # maximum number of remembered losses
MOST_NODES = 8   # maximum number of graph nodes examined behind the roots of a pass
MOST_MISSED = 3  # number of missed passes after which the hooks are permanent

_NAME = "_engine_run_backward"
_PLACES = (torch.autograd, getattr(torch.autograd, "graph", None))  # autograd looks up the name in the first module, and PyTorch itself replaces both
_Roots = Tuple[Any, ...]


class Nodes:
    """Losses identified by the sequence numbers of their graph nodes. These numbers keep neither the tensor nor the graph alive. Used to recognize
    passes that start at a value computed from a loss."""

    def __init__(self) -> None:
        self._numbers: deque[Tuple[int, str]] = deque(maxlen=AWAITED)

    def note(self, tensor: torch.Tensor) -> None:
        node = tensor.grad_fn
        if node is not None:
            self._numbers.append((node._sequence_nr(), node.name()))

    def find(self, roots: _Roots) -> bool:
        """Returns whether a remembered node is among the roots, or a few nodes behind them."""
        try:
            nodes: deque[Any] = deque(root.grad_fn for root in roots)
            for _ in range(MOST_NODES):
                node = nodes.popleft()
                if node is None:
                    continue
                if (node._sequence_nr(), node.name()) in self._numbers:
                    return True
                nodes.extend(entry[0] for entry in node.next_functions)
        except IndexError:
            pass  # the graph has no more nodes
        except Exception:  # the roots may not be tensors
            swallow("a backward pass")
        return False


class PassesInPython:
    """Backward passes of one watched model. `begin` and `end` are called around each pass that starts at a tensor passed to note()."""

    def __init__(self, begin: Callable[[], object], end: Callable[[], object], nodes: Nodes) -> None:
        self._begin, self._end, self._nodes = begin, end, nodes
        self._tensors: deque[weakref.ref[Any]] = deque(maxlen=AWAITED)
        self.state = PROVING
        self.inside = PROVING  # recognition method of the running pass
        self._waits = self._seen = False
        _all.append(weakref.ref(self, _all.remove))

    def note(self, tensor: torch.Tensor) -> None:
        """Records that a pass is expected to start at this tensor."""
        self._waits = True
        if self.state != BY_NODE:
            self._tensors.append(weakref.ref(tensor))
        if self.state != BY_TENSOR:
            self._nodes.note(tensor)

    def prove(self, state: int) -> None:
        """Stops using the hook if it fired in a recognized pass. state: the recognition method for later passes."""
        if self.inside and not self.state:
            self.state, self._seen = state or self.inside, True

    def missed(self) -> bool:
        """Returns whether a pass was expected since the last call and was not recognized."""
        missed = self._waits and not self._seen
        self._waits = self._seen = False
        return missed

    def close(self) -> None:
        """Stops recognizing passes."""
        for reference in list(_all):
            if reference() is self:
                _all.remove(reference)

    def find(self, roots: _Roots) -> int:
        if self.state != BY_NODE and any(reference() is root for root in roots for reference in self._tensors):
            return BY_TENSOR
        return BY_NODE if self.state != BY_TENSOR and self._nodes.find(roots) else PROVING

    def enter(self, roots: _Roots) -> bool:
        """Returns whether leave() must be called. end() must also be called if the recognition method was known before this pass."""
        if self.inside:
            return False
        self.inside = self.find(roots)
        if not self.inside:
            return False
        self._seen = self._seen or self.state != PROVING
        return True


_all: List[weakref.ref[PassesInPython]] = []


def _run_in_python(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(*arguments: Any, **named: Any) -> Any:
        if not _all or not arguments or not isinstance(arguments[0], tuple):
            return original(*arguments, **named)
        entered: List[Tuple[PassesInPython, bool]] = []
        try:
            for reference in list(_all):
                passes = reference()
                if passes is not None and passes.enter(arguments[0]):
                    entered.append((passes, passes.state != PROVING))
                    if passes.state != PROVING:
                        passes._begin()
            result = original(*arguments, **named)
            for passes, known in entered:
                if known:
                    passes._end()
            return result
        finally:
            for passes, _ in entered:
                passes.inside = PROVING
    function: Any = run
    _leave_to_python(function.__code__)
    return run


def _leave_to_python(code: CodeType) -> None:
    """Prevents Dynamo from compiling this frame. The frame runs at Dynamo's graph breaks."""
    try:
        from torch._C._dynamo import eval_frame
        if hasattr(eval_frame, "set_code_exec_strategy"):
            action = eval_frame._FrameAction
            eval_frame.set_code_exec_strategy(code, eval_frame._FrameExecStrategy(action.SKIP, action.DEFAULT))
        else:
            eval_frame.skip_code(code)
    except Exception:  # this PyTorch version does not have the function
        swallow("a backward pass")


class _Entry:
    """Replacement of the function through which passes reach the engine. It is installed while it has users.

    Threads: every method is thread-safe. The lock is re-entrant, because the garbage collector may call release() anywhere.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users = 0
        self._ours: Any = None  # our function; a wrapper may still call it after the last user is gone

    def acquire(self) -> bool:
        """Adds a user. Returns False if this version of PyTorch lacks the function to replace."""
        with self._lock:
            original = getattr(torch.autograd, _NAME, None)
            if not callable(original) or _NAME not in getattr(getattr(torch.autograd.backward, "__code__", None), "co_names", ()):
                return False
            self._users += 1
            # If other code has wrapped our replacement, the replacement must not be installed a second time.
            if self._ours is None or original is self._ours.__wrapped__:
                if native:
                    self._ours = native.Run(original)
                    functools.update_wrapper(self._ours, original)
                else:
                    self._ours = _run_in_python(original)
                for place in _PLACES:
                    if getattr(place, _NAME, None) is original:
                        setattr(place, _NAME, self._ours)
            return True

    def release(self) -> None:
        """Removes a user."""
        with self._lock:
            self._users -= 1
            if self._users:
                return
            found = [place for place in _PLACES if getattr(place, _NAME, None) is self._ours]
            for place in found:
                setattr(place, _NAME, self._ours.__wrapped__)
            if torch.autograd in found:
                self._ours = None


_entry = _Entry()


if TYPE_CHECKING:
    Passes = PassesInPython
else:
    Passes = native.Passes if native else PassesInPython


def passes_of(owner: object, begin: Callable[[], object], end: Callable[[], object]) -> Tuple[Optional[Passes], Any]:
    """Returns the Passes of an owner, and a function that releases them. The owner must keep a reference to the Passes. The function is called
    automatically when the owner is deleted. Returns None, None if this version of PyTorch lacks the function to replace."""
    if not _entry.acquire():
        return None, None
    released = weakref.finalize(owner, _entry.release)
    released.atexit = False
    return Passes(begin, end, Nodes()), released
