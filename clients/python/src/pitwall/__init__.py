"""Pitwall client for training scripts.

    import pitwall
    pitwall.init(job="resnet")
    for batch in pitwall.steps(loader):
        with pitwall.phase("forward"):
            loss = model(batch)
        with pitwall.phase("backward"):
            loss.backward()
        pitwall.log(loss=loss.item())

The client times the training loop and sends the data to the node's collector over a Unix socket. No function prints or raises into the training
script. The script waits briefly for the collector only when a loop or the script itself ends. Before init() and without a collector, every call is a
no-op. The logger "pitwall" receives one debug message for each kind of failure. All functions are thread-safe.
"""
import re

from . import _lifecycle
from ._callbacks import lightning_callback, transformers_callback, xgboost_callback
from ._guard import WrongCall, brief, swallow, warn_once
from ._identity import config_hash
from ._version import __version__
from .capture._profile import profile
from .loop._checkpoint import checkpoint
from .loop._loop import _number_or_next, mode, phase, step, steps
from .stats._collections import Collection
from .stats._samples import log_classification, log_experts, log_images, log_tokens

__all__ = ["init", "finish", "info", "steps", "step", "phase", "mode", "log", "log_classification", "log_experts",
           "log_images", "log_tokens", "watch", "watch_collectives", "Collection", "checkpoint", "profile",
           "lightning_callback", "transformers_callback", "xgboost_callback", "__version__"]

_REASONS = ("completed", "failed", "cancelled", "")
_LOSS_TREND = "train_loss_trend"
_metrics = {}  # name passed to log() -> metric name
_NOT_IN_NAMES = re.compile("[^a-zA-Z0-9_:]")


def init(job=None, *, job_id=None, rank=None, local_rank=None, world_size=None, attempt=None, labels=None, config=None,
         socket=None, queue=_lifecycle.DEFAULT_QUEUE, step_lag=0):
    """Starts the client. Omitted arguments default to values from the environment (see the table in the README).

    job: name of the job.
    job_id: ID that is never reused, if the scheduler provides one.
    labels: additional labels for this process.
    config: settings that two comparable runs must share, such as a dict of hyperparameters. Their hash becomes the job's label config_hash.
    socket: path of the collector's socket.
    queue: maximum number of spans and values to queue while the collector is not reading. Newer items are dropped and counted.
    step_lag: number of steps by which values may be logged late.

    Never raises. A second call ends the previous job.
    """
    try:
        if config is not None:
            try:
                labels = dict(labels if isinstance(labels, dict) else {}, config_hash=config_hash(config))
            except Exception:
                swallow("the hash of config")
        _lifecycle.begin(job, job_id, rank, local_rank, world_size, attempt, labels, socket, queue, step_lag)
    except Exception:
        swallow("init")


def finish(reason="completed", timeout=None):
    """Sends the remaining data and the process's exit reason: "completed", "failed", "cancelled", or "" if unknown.

    Called automatically at exit. Waits at most `timeout` seconds for the collector. Without a timeout, the limit is 5 s while the collector reads
    data, and 1 s otherwise. Never raises.
    """
    try:
        if reason not in _REASONS:
            warn_once("finish: unknown reason (%s); use \"completed\", \"failed\", or \"cancelled\"", brief(reason))
            reason = ""
        if timeout is not None and (
                isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 <= timeout <= 86400):
            warn_once("finish: timeout must be a number of seconds from 0 to 86400 (got %s); using the default", brief(timeout))
            timeout = None
        _lifecycle.end(reason, timeout)
    except Exception:
        swallow("finish")


def info():
    """Returns the identity that the collector has assigned to this process, {"node", "job_id", "source"}, or {} before the collector has responded."""
    client = _lifecycle.client
    welcome = client.sender.welcome or {} if client is not None else {}
    return {name: welcome[name] for name in ("node", "job_id", "source") if name in welcome}


def log(values=None, *, step=None, labels=None, **named):
    """Logs numbers, either as `log(loss=0.3, accuracy=0.9)` or as a dict if a name is not a Python identifier.

    The name loss becomes train_loss, and every other name becomes train_<name>. Names that already start with train_ are unchanged. A value may be
    anything that float() accepts, including single-element tensors and arrays. For a GPU tensor, float() waits for the GPU. NaN and infinities are
    sent.

    step: defaults to the running step, or else the last one.
    labels: additional labels, such as {"tensor": "fc1.weight"}.

    Never raises. An invalid value is skipped with one warning, and the other values are logged.
    """
    recorder = _lifecycle.recorder
    if recorder is None:
        return
    try:
        if values is not None and not hasattr(values, "keys"):
            raise WrongCall("values must be a dict of names and numbers", values, "call log(loss=0.3) or log({'loss': 0.3})")
        given = dict(values, **named) if values else named
        pairs = []
        for name, value in given.items():
            try:
                pairs.append((_metrics.get(name) or _metric(name), float(value)))
            except Exception:  # an unsupported name or value; the other values are still logged
                warn_once("log: %s is not a number (%s); log a value that float() accepts", brief(name), brief(value))
        pinned = ()
        if labels:
            if hasattr(labels, "items"):
                pinned = tuple(sorted((str(name), str(value)) for name, value in labels.items()))
            else:
                warn_once("log: labels must be a dict (got %s); sending the values without labels", brief(labels))
        number = _number_or_next("log", step)
        if number is None and any(metric == _LOSS_TREND for metric, _ in pairs):
            number = _first_step(recorder)
        recorder.log(pairs, pinned, number)
    except Exception:
        swallow("log")


def _first_step(recorder):
    """Returns the number of the first step if that step has not started; otherwise None. A value declared before the loop needs a step, because loss
    rules only read values that belong to steps."""
    mode = recorder.mode()
    return recorder.next_step(mode) if recorder.step_number(mode) is None else None


def watch(model, optimizer=None, loss=None, collections=None, *, every=500, steps=None, scaler=None, grad_norm_every=10,
          inputs=None, labels=False, batch_axis=None, collectives=True, history_bytes=1 << 30):
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
        from .pytorch import _torch_hooks
        return _torch_hooks.watch(model, optimizer, loss, collections, _torch_hooks.Options(
            every, steps, scaler, grad_norm_every, inputs, labels, batch_axis, collectives, history_bytes))
    except Exception:
        swallow("watch")
        return _NotWatched(loss)


def watch_collectives(ddp=None):
    """Times torch.distributed functions. Records the phase "collective", the durations, and the number of calls.

    ddp: a DistributedDataParallel module. Its gradient all-reduces are recorded too, because they bypass these functions. This registers a
    communication hook that computes the same result as DDP without a hook.

    Returns a handle with close(). Never raises.
    """
    try:
        from .pytorch import _collectives
        return _collectives.watch(ddp)
    except Exception:
        swallow("watch_collectives")
        return _NotWatched(None)


class _NotWatched:
    """Handle returned by watch() and watch_collectives() if the hooks could not be installed."""

    def __init__(self, loss):
        self.loss = loss

    def close(self):
        """Does nothing."""


def _metric(name):
    name = str(name)
    metric = _NOT_IN_NAMES.sub("_", name)
    if not metric:
        raise ValueError("empty metric name")
    if not metric.startswith("train_"):
        metric = "train_" + metric
    if len(_metrics) < 4096:
        _metrics[name] = metric
    return metric
