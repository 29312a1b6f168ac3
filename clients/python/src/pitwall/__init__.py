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
from ._callbacks import lightning_callback, transformers_callback, xgboost_callback
from ._session import finish, info, init
from ._version import __version__
from .loop._checkpoint import checkpoint
from .loop._log import log
from .loop._loop import mode, phase, step, steps
from .loop._profile import profile
from .pytorch._watch import watch, watch_collectives
from .stats._collections import Collection
from .stats._samples import log_classification, log_experts, log_images, log_tokens

__all__ = ["init", "finish", "info", "steps", "step", "phase", "mode", "log", "log_classification", "log_experts",
           "log_images", "log_tokens", "watch", "watch_collectives", "Collection", "checkpoint", "profile",
           "lightning_callback", "transformers_callback", "xgboost_callback", "__version__"]
