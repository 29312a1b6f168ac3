"""Pitwall's client for training scripts.

    import pitwall
    pitwall.init(job="resnet")
    for batch in pitwall.steps(loader):
        with pitwall.phase("forward"):
            loss = model(batch)
        with pitwall.phase("backward"):
            loss.backward()
        pitwall.log(loss=loss.item())

Times what the loop does and sends it to the collector of this node over a Unix socket. Nothing here ever raises into
the training script or prints, and only the end of a loop or of the script waits for the collector, briefly; without a collector,
or before init(), every call is a no-op.
Debug messages go to the logger "pitwall", each kind of failure once. All functions may be called from any thread.
"""
import re

from . import _lifecycle
from ._callbacks import lightning_callback, transformers_callback, xgboost_callback
from ._checkpoint import checkpoint
from ._collections import Collection
from ._guard import WrongCall, brief, swallow, warn_once
from ._identity import config_hash
from ._loop import _number_or_next, mode, phase, step, steps
from ._profile import profile
from ._samples import log_classification, log_experts, log_images, log_tokens
from ._version import __version__

__all__ = ["init", "finish", "info", "steps", "step", "phase", "mode", "log", "log_classification", "log_experts",
           "log_images", "log_tokens", "watch", "watch_collectives", "Collection", "checkpoint", "profile",
           "lightning_callback", "transformers_callback", "xgboost_callback", "__version__"]

_REASONS = ("completed", "failed", "cancelled", "")
_LOSS_TREND = "train_loss_trend"
_metrics = {}  # name given to log() -> metric name
_NOT_IN_NAMES = re.compile("[^a-zA-Z0-9_:]")


def init(job=None, *, job_id=None, rank=None, local_rank=None, world_size=None, attempt=None, labels=None, config=None,
         socket=None, queue=_lifecycle.DEFAULT_QUEUE, step_lag=0):
    """Starts the client. Whatever is not given comes from the environment (see the README's table).

    job: the job's name. job_id: unique for ever, if the scheduler has such a thing. labels: further labels of this
    process. config: what two runs must have in common to be compared, e.g. a dict of hyperparameters; the job gets its
    hash as the label config_hash. socket: path of the collector's socket. queue: spans and values kept while the
    collector does not read; newer ones are dropped and counted. step_lag: how many steps late values of a step may be
    logged.
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
    """Sends what is left, and how the process ended: "completed", "failed", "cancelled", or "" for unknown. Happens by itself
    at exit. Waits at most timeout seconds for the collector; without a timeout as long as the collector takes data, at most
    5 s, and 1 s for one that takes none."""
    try:
        if reason not in _REASONS:
            warn_once("finish: unknown reason (%s); give one of \"completed\", \"failed\", \"cancelled\"", brief(reason))
            reason = ""
        if timeout is not None and (
                isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 <= timeout <= 86400):
            warn_once("finish: timeout is not a number of seconds (%s); the default is taken", brief(timeout))
            timeout = None
        _lifecycle.end(reason, timeout)
    except Exception:
        swallow("finish")


def info():
    """What the collector said of this process: {"node", "job_id", "source"}; {} while there is none."""
    client = _lifecycle.client
    said = client.sender.welcome or {} if client is not None else {}
    return {name: said[name] for name in ("node", "job_id", "source") if name in said}


def log(values=None, *, step=None, labels=None, **named):
    """Logs numbers: `log(loss=0.3, accuracy=0.9)`, or a dict for names that are no Python names.

    loss becomes train_loss, every other name train_<name>; names that begin with train_ are kept. Numbers are what
    float() takes: also tensors and arrays of one element (float() of a GPU tensor waits for the GPU). NaN and
    infinities are sent. step: default the step that runs or ran last. labels: e.g. {"tensor": "fc1.weight"}.
    """
    recorder = _lifecycle.recorder
    if recorder is None:
        return
    try:
        if values is not None and not hasattr(values, "keys"):
            raise WrongCall("values is no dict", values, "log(loss=0.3), or a dict of names and numbers")
        given = dict(values, **named) if values else named
        pairs = []
        for name, value in given.items():
            try:
                pairs.append((_metrics.get(name) or _metric(name), float(value)))
            except Exception:  # a name or value of a kind we do not take; the others go on
                warn_once("log: %s is not a number (%s); log what float() takes", brief(name), brief(value))
        pinned = ()
        if labels:
            if hasattr(labels, "items"):
                pinned = tuple(sorted((str(name), str(value)) for name, value in labels.items()))
            else:
                warn_once("log: labels is no dict (%s); the values are sent without", brief(labels))
        number = _number_or_next("log", step)
        if number is None and any(metric == _LOSS_TREND for metric, _ in pairs):
            number = _first_step(recorder)
        recorder.log(pairs, pinned, number)
    except Exception:
        swallow("log")


def _first_step(recorder):
    """Returns the number of the first step if it has not begun; else None. A declaration before the loop needs the step, because
    rules on losses see only values of steps."""
    mode = recorder.mode()
    return recorder.next_step(mode) if recorder.step_number(mode) is None else None


def watch(model, optimizer=None, loss=None, collections=None, *, every=500, steps=None, scaler=None, grad_norm_every=10,
          inputs=None, labels=False, batch_axis=None, collectives=True, history_bytes=1 << 30):
    """Hooks a PyTorch model: one line gives phases, losses, learning rate, gradient norm and statistics of tensors.

    model: the module whose forward is called (what DDP or torch.compile returned, where they are used). optimizer: one
    or a list; the last one's step ends a step. loss: the loss module; a function is wrapped, call handle.loss instead
    of it; without either, an output with a loss in it is enough. collections: default Collection.defaults(every).
    every: their save interval in steps. steps: None: a step is a turn of pitwall.steps() or step() where one runs, else
    from forward to the optimizer's end; False: never the latter. scaler: the GradScaler, for the norm's scale and
    train_loss_scale; default: the one that scales the losses. grad_norm_every: steps between norms of all gradients; 0: none. inputs: "images" or "tokens", what
    the model's first input is, to log_images() or log_tokens() it each ten steps. labels: True hands what the loss
    module gets to log_classification(), each step. batch_axis: axis of the first input that counts samples. collectives:
    watch_collectives() too, if torch.distributed runs. history_bytes: memory for copies of tensors, which their changes
    are computed from.

    Returns a handle: close() removes every hook. A second watch() of a model closes the first.
    """
    try:
        from . import _torch_hooks
        return _torch_hooks.watch(model, optimizer, loss, collections, _torch_hooks.Options(
            every, steps, scaler, grad_norm_every, inputs, labels, batch_axis, collectives, history_bytes))
    except Exception:
        swallow("watch")
        return _NotWatched(loss)


def watch_collectives(ddp=None):
    """Times the functions of torch.distributed: phase "collective", their durations and counts. Returns a handle with
    close(). ddp: a DistributedDataParallel module whose gradients' all-reduces, which bypass these functions, are to be
    seen too; this registers a communication hook, which does what DDP does without one."""
    try:
        from . import _collectives
        return _collectives.watch(ddp)
    except Exception:
        swallow("watch_collectives")
        return _NotWatched(None)


class _NotWatched:
    """What watch() returns where it could not."""

    def __init__(self, loss):
        self.loss = loss

    def close(self):
        """Nothing to remove."""


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
