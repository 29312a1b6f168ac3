"""Begin and end of a backward pass, as seen from the function that hands it to autograd's engine.

A hook on the loss and a callback of the engine tell the same, but PyTorch takes 20 µs for the two, and 70 where its caches are cold.
So the function of PyTorch through which `Tensor.backward`, `torch.autograd.backward` and `torch.autograd.grad` reach the engine is
replaced while somebody needs it. It calls the original, with two calls of ours around it where the pass begins at a loss that is
awaited. All other passes go through as they are, as do passes inside of one.

Not every training goes that way, and not with the loss itself: a GradScaler's pass begins at a product of it. So a watched model
has the hook first; once that fired in a pass that was recognized, it needs it no more. An optimizer's step without any pass that was
recognized brings it back; after MOST_MISSED of them it stays.
"""
import functools
import threading
import weakref
from collections import deque

import torch

from ._guard import swallow
from ._recorder import native

PROVING, BY_TENSOR, BY_NODE = 0, 1, 2  # how a pass is recognized; PROVING: by neither yet, the hook is there
AWAITED = 8      # losses that are remembered
MOST_NODES = 8   # of the graph behind where a pass begins, that are looked at
MOST_MISSED = 3  # and then hooks are used

_NAME = "_engine_run_backward"
_PLACES = (torch.autograd, getattr(torch.autograd, "graph", None))  # the name is looked up in the first; PyTorch itself replaces both
_lock = threading.RLock()  # the garbage collector may call _release() anywhere
_users = 0
_ours = None  # what was put there; a wrapper around it may still call it after the last user


class Nodes:
    """Losses by their nodes' numbers, which keep neither tensor nor graph: for passes that begin at what was computed of a loss."""

    def __init__(self):
        self._numbers = deque(maxlen=AWAITED)

    def note(self, tensor):
        node = tensor.grad_fn
        if node is not None:
            self._numbers.append((node._sequence_nr(), node.name()))

    def find(self, roots):
        """Whether one of them is at the roots, or few nodes behind."""
        try:
            nodes = deque(root.grad_fn for root in roots)
            for _ in range(MOST_NODES):
                node = nodes.popleft()
                if node is None:
                    continue
                if (node._sequence_nr(), node.name()) in self._numbers:
                    return True
                nodes.extend(entry[0] for entry in node.next_functions)
        except IndexError:
            pass  # there are no more
        except Exception:  # something else than tensors
            swallow("a backward pass")
        return False


class PassesInPython:
    """The backward passes of one watched model. begin and end are called around those that begin at what was noted last."""

    def __init__(self, begin, end, nodes):
        self._begin, self._end, self._nodes = begin, end, nodes
        self._tensors = deque(maxlen=AWAITED)  # weak references
        self.state = PROVING
        self.inside = PROVING  # while a pass runs: how it was recognized
        self._waits = self._seen = False
        _all.append(weakref.ref(self, _all.remove))

    def note(self, tensor):
        """A pass is expected to begin here."""
        self._waits = True
        if self.state != BY_NODE:
            self._tensors.append(weakref.ref(tensor))
        if self.state != BY_TENSOR:
            self._nodes.note(tensor)

    def prove(self, state):
        """The hook fired, in a pass that was recognized or not: from here on it is not needed. state: how they are recognized."""
        if self.inside and not self.state:
            self.state, self._seen = state or self.inside, True

    def missed(self):
        """Whether no pass was recognized since the last call, though one was expected."""
        missed = self._waits and not self._seen
        self._waits = self._seen = False
        return missed

    def close(self):
        """No pass is recognized from here on."""
        for reference in list(_all):
            if reference() is self:
                _all.remove(reference)

    def find(self, roots):
        if self.state != BY_NODE and any(reference() is root for root in roots for reference in self._tensors):
            return BY_TENSOR
        return BY_NODE if self.state != BY_TENSOR and self._nodes.find(roots) else PROVING

    def enter(self, roots):
        """-> whether leave() is due; end() is due then too, if it was known before how passes are recognized."""
        if self.inside:
            return False
        self.inside = self.find(roots)
        if not self.inside:
            return False
        self._seen = self._seen or self.state != PROVING
        return True


_all = []  # weak references


def _run_in_python(original):
    @functools.wraps(original)
    def run(*arguments, **named):
        if not _all or not arguments or not isinstance(arguments[0], tuple):
            return original(*arguments, **named)
        entered = []
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
    _leave_to_python(run.__code__)
    return run


def _leave_to_python(code):
    """Dynamo is not to compile this frame, which runs where its graphs break."""
    try:
        from torch._C._dynamo import eval_frame
        if hasattr(eval_frame, "set_code_exec_strategy"):
            action = eval_frame._FrameAction
            eval_frame.set_code_exec_strategy(code, eval_frame._FrameExecStrategy(action.SKIP, action.DEFAULT))
        else:
            eval_frame.skip_code(code)
    except Exception:  # a version without
        swallow("a backward pass")


Passes = native.Passes if native else PassesInPython


def passes_of(owner, begin, end):
    """The Passes of an owner, which must keep them, and a function that gives them back; it is called when the owner is gone. None,
    None: this version of PyTorch has no such function."""
    if not _replace():
        return None, None
    released = weakref.finalize(owner, _release)
    released.atexit = False
    return Passes(begin, end, Nodes()), released


def _replace():
    global _users, _ours
    with _lock:
        original = getattr(torch.autograd, _NAME, None)
        if not callable(original) or _NAME not in getattr(getattr(torch.autograd.backward, "__code__", None), "co_names", ()):
            return False
        _users += 1
        # One that somebody wrapped again stays where it is, and begins to work again.
        if _ours is None or original is _ours.__wrapped__:
            if native:
                _ours = native.Run(original)
                functools.update_wrapper(_ours, original)
            else:
                _ours = _run_in_python(original)
            for place in _PLACES:
                if getattr(place, _NAME, None) is original:
                    setattr(place, _NAME, _ours)
        return True


def _release():
    global _users, _ours
    with _lock:
        _users -= 1
        if _users:
            return
        found = [place for place in _PLACES if getattr(place, _NAME, None) is _ours]
        for place in found:
            setattr(place, _NAME, _ours.__wrapped__)
        if torch.autograd in found:
            _ours = None
