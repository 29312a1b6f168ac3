"""Implementation of watch(): the hooks on a PyTorch model, its loss, and its optimizer, and the schedule for reading tensors.

There are five permanent hooks: two on the model, one on the loss module, and two on the optimizer. The loss itself is hooked only if its backward
pass cannot be observed otherwise (_backward.py). Inner modules are hooked only for a forward pass whose tensors are saved, so that all other passes
have no overhead. A hook never returns a value and therefore never changes a tensor. It catches every Exception and does not keep a tensor beyond its
call. In a copy or a pickle of the model, the hooks do nothing and do not require pitwall.
"""
from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

import torch

from .._client import client
from .._guard import swallow, debug_once
from ..recording._recorder import Recorder, native
from ..stats import _samples, _statistics
from ..stats._collections import (BLOCK_INPUT, BLOCK_OUTPUT, GRADIENT, INPUT, LOSS, MODEL_INPUT, NEVER, OPTIMIZER, OUTPUT,
                                  PARAMETER, Collection, Schedule)
from ..stats._own_time import OwnTime
from . import _backward, _collectives
from ._grad_scaler import Scaling
from ._gradient_norm import lister, norm_of
from ._hook import Hook
from ._optimizer_hooks import hook_step, unwrapped
from ._options import Options
from ._torch_models import add_memory, loss_in, tensors, unwrap
from ._torch_step import Loop

_Plan = Tuple[torch.nn.Module, str, int, bool]  # module, prefix of its tensors' names, kind, whether they are inputs

LATE_STEPS = 2    # maximum delay, in steps, of numbers from a GPU
FACTS_EVERY = 10  # interval in steps between reads of the inputs
_OURS = -1        # key of our hook in a tensor's table; PyTorch's own keys start at 0
_PROBED = 4       # maximum number of a module's tensors that a pattern can match by number

_when_done = torch.autograd.Variable._execution_engine.queue_callback  # registers a function for the end of this backward pass
# Model -> weak reference to its Watch, which its hooks keep alive.
_watched: weakref.WeakKeyDictionary[Any, weakref.ref[Watch]] = weakref.WeakKeyDictionary()


def watch(model: Any, optimizer: Any, loss: Any, collections: Optional[Iterable[Collection]], options: Options) -> Watch:
    if not isinstance(model, torch.nn.Module):
        raise TypeError("model must be a torch.nn.Module (got a %s)" % type(model).__name__)
    known = _watched.get(model)
    before = known() if known is not None else None
    if before is not None:
        before.close()
    optimizers = [] if optimizer is None else list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
    chosen = Collection.defaults(options.every) if collections is None else list(collections)
    watched = Watch(model, [unwrapped(each) for each in optimizers], loss, chosen, options)
    _watched[model] = weakref.ref(watched)
    client.begin_model(unwrap(model)[0])
    return watched


if native:
    native.set_tensor_type(torch.Tensor)


if TYPE_CHECKING:
    _WatchState = object
else:
    _WatchState = native.WatchState if native else object


class Watch(_WatchState):
    """Handle returned by watch(). loss: the function to call instead of a loss function passed to watch().

    The C module implements the common case of each hook under the hook's name without the underscore. In all other cases, it calls the method here.
    """

    def __init__(self, model: torch.nn.Module, optimizers: List[Any], loss: Any, collections: List[Collection], options: Options) -> None:
        self._options = options
        self._collections = collections
        self._loop = Loop(options.steps is not False)
        self._statistics = _statistics.Statistics(options.history_bytes)
        self._model, self._compiled, self._distributed = unwrap(model)
        self._matches: Dict[Tuple[int, str], List[Collection]] = {}  # (kind, tensor's name) -> collections
        self._plans: Dict[Tuple[int, ...], List[_Plan]] = {}  # collections -> modules to hook
        self._looks: Dict[Tuple[str, str], List[int]] = {}  # (point, mode) -> [step of the last check, the next step with a due collection]
        self._due_there: Sequence[Collection] = ()  # due at the optimizer's step
        self._attached: List[Any] = []
        self._calls: Dict[str, int] = {}  # module's name prefix -> number of its tensors seen in this pass
        self._norm = Schedule(options.grad_norm_every)
        self._gradients = lister(self._model)
        self._facts = Schedule(FACTS_EVERY)
        self._norm_step: Optional[int] = None
        self._norms = bool(self._norm.every)
        self._norm_known = False
        self._samples = 0
        self._gpu = next((p.device for p in model.parameters() if p.is_cuda), None)
        if self._gpu is not None:
            Hook.capturing = staticmethod(torch.cuda.is_current_stream_capturing)
            self._gpu_bytes = torch.cuda.get_device_properties(self._gpu).total_memory
        self._known_recorder: Optional[Recorder] = None
        self._removers: List[Callable[[], object]] = []
        self._optimizer = optimizers[-1] if optimizers else None
        self._points = {point: [c for c in collections if c.kinds & frozenset(kinds)] for point, kinds in (
            ("forward", (INPUT, OUTPUT, BLOCK_INPUT, BLOCK_OUTPUT, MODEL_INPUT)), ("loss", (LOSS,)),
            ("optimizer", (PARAMETER, GRADIENT, OPTIMIZER)))}
        self.loss = loss
        self._finds_loss, self._has_labels = loss is None, bool(options.labels)
        self._reads_inputs = bool(options.inputs) or options.batch_axis is not None
        self._has_scaler = options.scaler is not None
        self._scaling = Scaling(self, options.scaler, Hook(self._after_skipped))
        self._on_gpu = any(p.device.type != "cpu" for p in model.parameters())  # or a similar device with numbers that arrive late
        self._saves_forward, self._saves_loss, self._saves_optimizer = (
            bool(self._points[point]) for point in ("forward", "loss", "optimizer"))
        self._client = vars(client)  # the C module reads `recorder` from it
        self._on_backward, self._on_gradients = Hook(self._before_backward), Hook(self._gradients_ready)
        self._on_waiting = Hook(self._after_backward)
        self._backward_hook = (_OURS, self._on_backward),
        self._passes: Optional[_backward.Passes] = None
        self._passes_over: Any = None
        self._missed = 0
        if not self._distributed:  # DDP's wait for the gradients of other ranks is only visible inside the pass
            around: Tuple[Any, Any] = Hook(self._loop.before_backward), self._on_gradients
            if native and not self._on_gpu:  # without a GPU, graphs are not captured, and C code is not traced
                usual: Any = self
                around = usual.before_backward, usual.gradients_ready
            self._passes, self._passes_over = _backward.passes_of(self, *around)
        self._install(model, optimizers, loss)
        client.before_end.add(self)

    def _install(self, model: torch.nn.Module, optimizers: List[Any], loss: Any) -> None:
        usual: Any = self if native else None  # has the hooks of the C module
        for optimizer in optimizers:
            before, after = self._before_optimizer, self._after_optimizer
            if usual:
                before, after = usual.before_optimizer, usual.after_optimizer
            self._removers.append(hook_step(optimizer, Hook(before), Hook(after if optimizer is optimizers[-1] else self._after_other)))
        self._scaling.follow(optimizers[-1:])
        before_forward = Hook(usual.before_forward if usual else self._before_forward)
        try:
            before = model.register_forward_pre_hook(before_forward, with_kwargs=True)
        except TypeError:  # before PyTorch 2.0
            before = model.register_forward_pre_hook(before_forward)
        after_forward = Hook(usual.after_forward if usual else self._after_forward)
        self._removers += [before.remove, model.register_forward_hook(after_forward).remove]
        if isinstance(loss, torch.nn.Module):
            self._removers.append(loss.register_forward_hook(Hook(usual.after_loss if usual else self._after_loss)).remove)
        elif callable(loss):
            self.loss = self._wrapped(loss)
        if self._options.collectives and torch.distributed.is_available() and torch.distributed.is_initialized():
            self._removers.append(_collectives.watch(None).close)

    def close(self) -> None:
        """Removes all hooks and sends the numbers computed so far."""
        removers, self._removers = self._removers, []
        try:
            self._detach()
            for remove in removers:
                remove()
            self._scaling.close()
            self._give_up_passes()
            self.flush()
            client.before_end.discard(self)
        except Exception:
            swallow("close")

    def flush(self) -> None:
        """Waits for the numbers that are still being transferred from a device, and records them."""
        self._statistics.receive(everything=True)

    def _wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        seen = Hook(self._on_loss)

        def loss(*arguments: Any, **named: Any) -> Any:
            value = function(*arguments, **named)
            seen(value, getattr(function, "__name__", "loss"), arguments)
            return value
        return loss

    # Schedule.

    def _due(self, point: str, mode: str, step: Optional[int]) -> Sequence[Collection]:
        """Returns the point's collections that are due at this step; empty if the step was already checked."""
        if step is None:
            return ()
        look = self._looks.get((point, mode))
        if look is not None and look[0] <= step < look[1]:  # the common case
            look[0] = step
            return ()
        schedules = [(c, schedule) for c in self._points[point] if (schedule := c.schedule(mode)) is not None]
        last = None if look is None else look[0]
        self._looks[point, mode] = [step, min((s.next_after(step) for _, s in schedules), default=NEVER)]
        return [c for c, schedule in schedules if schedule.due(last, step)]

    def _due_often(self, schedule: Schedule, point: str, mode: str, step: Optional[int]) -> bool:
        if step is None or not schedule.every:
            return False
        look = self._looks.get((point, mode))
        if look is not None and look[0] <= step < look[1]:
            look[0] = step
            return False
        last = None if look is None else look[0]
        self._looks[point, mode] = [step, schedule.next_after(step)]
        return schedule.due(last, step)

    def _matching(self, collections: Sequence[Collection], kind: int, name: str) -> List[Collection]:
        matches = self._matches.get((kind, name))
        if matches is None:
            matches = [c for c in self._collections if c.matches(kind, name)]
            if len(self._matches) < 65536:
                self._matches[kind, name] = matches
        return [c for c in matches if c in collections] if len(collections) < len(self._collections) else matches

    # The forward pass.

    def _before_forward(self, module: torch.nn.Module, arguments: Any, named: Any = None) -> None:
        if self._attached:
            self._detach()
        loop = self._loop
        if not loop.before_forward(module.training):
            return
        recorder = loop.recorder
        if recorder is not self._known_recorder:
            self._known_recorder = recorder
            if recorder is not None and self._gpu is not None:
                recorder.allow_late(LATE_STEPS)
        inputs = (arguments, named)
        due = self._points["forward"] and self._due("forward", loop.mode, loop.step)
        if due:
            with self._own_time():
                self._calls.clear()
                self._attach(due)
                prefix = type(self._model).__name__.lower()
                for number, tensor in enumerate(tensors(inputs)):
                    name = "%s_input_%d" % (prefix, number)
                    self._statistics.add(self._matching(due, MODEL_INPUT, name), name, tensor)
        if self._options.batch_axis is not None and module.training:
            tensor = next(tensors(inputs), None)
            if tensor is not None:
                self._samples += tensor.shape[self._options.batch_axis]
        if self._options.inputs and self._due_often(self._facts, "inputs", loop.mode, loop.step):
            log: Any = {"images": _samples.images, "tokens": _samples.tokens}[self._options.inputs]
            tensor = next(tensors(inputs), None)
            if tensor is not None:
                with self._own_time():
                    log(loop.recorder, tensor, mode=loop.mode, step=loop.step)

    def _own_time(self) -> OwnTime:
        return OwnTime(self._loop.recorder, self._loop.phases, self._loop.mode)

    def _after_forward(self, module: torch.nn.Module, _: object, output: Any) -> None:
        if self._attached:
            self._detach()
        loop = self._loop
        if loop.recorder is None:
            return
        mode, step = loop.mode, loop.step
        loop.after_forward()
        if self._finds_loss:
            found = loss_in(output)
            if found is not None:
                self._on_loss(found, "loss", ())
            elif torch.is_grad_enabled():
                for tensor in tensors(output):
                    self._await_backward(tensor)
        if self._statistics.busy():
            self._statistics.send(mode, step)
            self._statistics.receive(mode, None if step is None else step - LATE_STEPS + 1)

    def _attach(self, due: Sequence[Collection]) -> None:
        key = tuple(id(c) for c in due)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = list(self._plan(due))
        for module, prefix, kind, is_input in plan:
            hook = Hook(_Look(self, due, prefix, kind, is_input))
            register = module.register_forward_pre_hook if is_input else module.register_forward_hook
            self._attached.append(register(hook))

    def _plan(self, due: Sequence[Collection]) -> Iterator[_Plan]:
        if self._compiled:
            debug_once("inputs and outputs of modules inside a compiled model are not read")
            return
        compiled: Tuple[str, ...] = ()
        for path, module in self._model.named_modules():
            if hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None:
                compiled += (path + "." if path else "",)
            if not path or any((path + ".").startswith(prefix) for prefix in compiled):
                continue
            leaf = next(module.children(), None) is None
            for is_input, kind in ((True, INPUT if leaf else BLOCK_INPUT), (False, OUTPUT if leaf else BLOCK_OUTPUT)):
                prefix = "%s.%s_%s_" % (path, type(module).__name__.lower(), "input" if is_input else "output")
                if any(self._matching(due, kind, prefix + str(n)) for n in range(_PROBED)):
                    yield module, prefix, kind, is_input

    def _detach(self) -> None:
        attached, self._attached = self._attached, []
        for handle in attached:
            handle.remove()

    # The loss, and the backward pass that starts at the loss.

    def _after_loss(self, module: torch.nn.Module, inputs: Any, output: Any) -> None:
        self._on_loss(output, type(module).__name__, inputs)

    def _on_loss(self, value: Any, name: str, inputs: Any) -> None:
        loop = self._loop
        if loop.recorder is None or not isinstance(value, torch.Tensor):
            return
        mode, step = loop.mode, loop.recorder.step_number(loop.mode)
        due = self._points["loss"] and self._due("loss", mode, step)
        if not due and value.is_cpu and value.numel() == 1:
            loop.recorder.record([("train_loss", (), float(value.item()))], mode, step)
        else:
            number = value.detach()
            self._statistics.add_number("train_loss", number if number.numel() == 1 else number.float().mean())
        if due:
            name = name.lower() + "_output_0"
            with self._own_time():
                self._statistics.add(self._matching(due, LOSS, name), name, value)
        if self._statistics.busy():
            self._statistics.send(mode, step)
        self._await_backward(value)
        if self._options.labels and len(inputs) >= 2:
            predictions, labels = inputs[:2]
            if not labels.is_floating_point():
                with self._own_time():
                    _samples.classification(loop.recorder, labels, predictions, mode=mode, step=step)

    def _await_backward(self, tensor: torch.Tensor) -> None:
        if not tensor.requires_grad:
            return
        passes = self._passes
        if passes is not None and type(tensor) is torch.Tensor:
            passes.note(tensor)
            if passes.state:
                return
        # Equivalent to register_hook() for a plain tensor without hooks, but does not create a handle. Each tensor gets its own hook table, because a
        # script may add hooks to it.
        node = tensor.grad_fn
        if type(tensor) is torch.Tensor and hasattr(node, "_register_hook_dict") and tensor._backward_hooks is None:
            tensor._backward_hooks = OrderedDict(self._backward_hook)
            node._register_hook_dict(tensor)
        else:  # also for a PyTorch version without the table
            tensor.register_hook(self._on_backward)

    def _give_up_passes(self) -> None:
        """Stops recognizing passes and switches to hooks."""
        if self._passes is not None:
            self._passes.close()
            self._passes = None
            self._passes_over()

    def _miss_pass(self) -> None:
        """Handles an optimizer step whose backward pass was not recognized. Switches back to the hook, permanently after MOST_MISSED such steps."""
        self._missed += 1
        if self._missed >= _backward.MOST_MISSED:
            self._give_up_passes()
        elif self._passes is not None:
            self._passes.state = _backward.PROVING

    def _before_backward(self, _: object) -> None:
        if self._passes is not None:
            self._passes.prove(_backward.BY_NODE if self._missed else 0)  # if the first method missed a pass, the other method is used
        self._loop.before_backward()
        _when_done(self._on_waiting if self._distributed else self._on_gradients)

    def _after_backward(self) -> None:
        # DDP's own callback waits for the reduced gradients and runs after this callback. The time between the two callbacks is this rank's wait for
        # its peers. On a GPU, the host does not wait there.
        if self._options.collectives:
            self._loop.before_wait(self._gpu)
        _when_done(self._on_gradients)

    def _gradients_ready(self) -> None:
        loop = self._loop
        if self._distributed:
            loop.after_wait()
        loop.after_backward()
        if loop.recorder is None or loop.mode != "train" or not self._norm.every:
            return
        step = loop.recorder.step_number(loop.mode)
        # If a step has several backward passes, only the last one completes the gradient, so each pass updates the norm.
        if step == self._norm_step or self._due_often(self._norm, "norm", loop.mode, step):
            self._norm_step = step
            with self._own_time():
                self._measure_norm(loop.mode, step, self._optimizer)
                if self._statistics.busy():
                    self._statistics.send(loop.mode, step)

    def _measure_norm(self, mode: str, step: Optional[int], optimizer: Any = None) -> None:
        """Records the gradient norm of the step, either immediately or when the norm has arrived from a device."""
        scale = self._scaling.scale()
        norm = norm_of(self._gradients(self._model), None if self._scaling.is_unscaled(optimizer) else scale)
        self._norm_known = norm is not None
        self._scaling.record_scale(self._statistics.add_number, step, scale)
        recorder = client.recorder
        if type(norm) is float:
            if recorder is not None:
                recorder.record([("train_grad_norm", (), norm)], mode, step)
        elif self._norm_known:
            self._statistics.add_number("train_grad_norm", norm)

    # The optimizer.

    def _before_optimizer(self, optimizer: Any, *_: object) -> None:
        loop = self._loop
        recorder = client.recorder
        if recorder is None:
            return
        if self._passes is not None and self._passes.missed():
            self._miss_pass()
        mode, step = recorder.here()[1:]
        self._due_there = (self._points["optimizer"] and self._due("optimizer", mode, step)) or self._due_there
        norm_due = not self._norm_known and self._norm.every and self._due_often(self._norm, "norm", mode, step)
        if self._due_there or norm_due:
            with OwnTime(recorder):
                self._save_gradients(optimizer)
                if norm_due:
                    self._measure_norm(mode, step, optimizer)  # the backward pass was not observed
        loop.before_optimizer()

    def _save_gradients(self, optimizer: Any) -> None:
        for name, parameter in self._parameters(optimizer) if self._due_there else ():
            if parameter.grad is not None:
                name = "gradient/" + name
                self._statistics.add(self._matching(self._due_there, GRADIENT, name), name, parameter.grad)

    def _after_other(self, *_: object) -> None:
        self._loop.after_optimizer()

    def _after_optimizer(self, optimizer: Any, *_: object) -> None:
        loop = self._loop
        loop.after_optimizer()
        if loop.recorder is None:
            return
        due, self._due_there = self._due_there, ()
        if due:
            with self._own_time():
                self._save_parameters(due, optimizer)
                self._statistics.send(loop.mode, loop.step)
        add = self._statistics.add_number
        rate = optimizer.param_groups[0].get("lr")
        if type(rate) is float:  # otherwise a tensor, possibly on a device
            loop.recorder.record([("train_learning_rate", (), rate)], loop.mode, loop.step)
        elif rate is not None:
            add("train_learning_rate", rate)
        self._scaling.after_optimizer(optimizer, add, loop.step)
        if self._samples:
            add("train_samples_total", self._samples)
        if self._gpu is not None:
            add_memory(add, self._gpu, self._gpu_bytes)
        if self._statistics.busy():
            self._statistics.send(loop.mode, loop.step)
        self._norm_known, self._norm_step = False, None
        loop.end_step()

    def _after_skipped(self, optimizer: Any) -> None:
        """Handles a step that a GradScaler has skipped. The step ends the training step even though none of the optimizer's hooks has run."""
        if self._passes is not None and self._passes.missed():
            self._miss_pass()
        if self._loop.before_optimizer():
            self._scaling.count_skipped()
            self._after_optimizer(optimizer)

    def _save_parameters(self, due: Sequence[Collection], optimizer: Any) -> None:
        for name, parameter in self._parameters(None):
            self._statistics.add(self._matching(due, PARAMETER, name), name, parameter)
            for variable, tensor in optimizer.state.get(parameter, {}).items():
                if isinstance(tensor, torch.Tensor) and tensor.dim():
                    full = "optimizer/%s/%s" % (variable, name)
                    self._statistics.add(self._matching(due, OPTIMIZER, full), full, tensor)

    def _parameters(self, optimizer: Any) -> Iterator[Tuple[str, Any]]:
        """Yields the model's (name, parameter) pairs. With an optimizer, yields only the parameters that the optimizer updates."""
        own = None if optimizer is None else {id(p) for group in optimizer.param_groups for p in group["params"]}
        for name, parameter in self._model.named_parameters():
            if own is None or id(parameter) in own:
                yield name, parameter


class _Look:
    """Hook on an inner module, used for one forward pass."""

    def __init__(self, watched: Watch, due: Sequence[Collection], prefix: str, kind: int, is_input: bool) -> None:
        self._watched, self._due, self._prefix, self._kind, self._is_input = watched, due, prefix, kind, is_input

    def __call__(self, _: object, inputs: Any, output: Any = None) -> None:
        watched = self._watched
        with watched._own_time():
            for tensor in tensors(inputs if self._is_input else output):
                number = watched._calls.get(self._prefix, 0)
                watched._calls[self._prefix] = number + 1
                name = self._prefix + str(number)
                watched._statistics.add(watched._matching(self._due, self._kind, name), name, tensor)
