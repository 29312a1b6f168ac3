"""Public constructors of the callbacks in pitwall.integrations. Each constructor imports its framework only when it is called.

A constructor raises ImportError if the framework is not installed, and TypeError for unknown arguments. The callbacks themselves never raise into
training.
"""
from __future__ import annotations

from typing import Any, Dict, Optional, Sequence, Union


def transformers_callback(watch: Union[bool, Dict[str, Any]] = False) -> Any:
    """Returns a callback for Hugging Face's `Trainer(callbacks=[...])` that records steps, phases, and the Trainer's log values.

    watch: if True or a dict of arguments for watch(), hooks the Trainer's model and optimizer. Raises ImportError.
    """
    from .integrations import transformers
    return transformers.PitwallCallback(watch)


def lightning_callback(watch: Union[bool, Dict[str, Any]] = False) -> Any:
    """Returns a callback for Lightning's `Trainer(callbacks=[...])` that records steps, phases, the loss, and the module's log values.

    watch: as for transformers_callback(). Raises ImportError.
    """
    from .integrations import lightning
    return lightning.PitwallCallback(watch)


def xgboost_callback(*, every: int = 5, trees_every: int = 1, classification: Any = None, loss: Optional[str] = None,
                     train_data: Sequence[str] = ("train", "training", "dtrain"), eval_data: Optional[str] = None,
                     features: int = 100) -> Any:
    """Returns a callback for `xgboost.train(callbacks=[...])` and `cv()` that records each boosting round as a step.

    The callback records metrics, trees, and feature importance.

    every: interval, in rounds, at which feature importance and predictions are read. 0 disables both.
    trees_every: interval, in rounds, at which new trees are read. 0 disables it.
    classification: DMatrix with labels whose predictions are passed to log_classification().
    loss: metric that is also recorded as train_loss. Defaults to the first metric that is known to be a loss.
    train_data: possible names of the training data in evals.
    eval_data: data whose loss is recorded in eval mode. Defaults to the last data set that is not the training data, as for early stopping.
    features: maximum number of features to send, most important first.

    Raises ImportError.
    """
    from .integrations import xgboost
    return xgboost.PitwallCallback(every, trees_every, classification, loss, train_data, eval_data, features)
