"""Public constructors of the callbacks in pitwall.integrations; each imports its framework only when called.

Each raises ImportError if the framework is not installed, and TypeError for unknown arguments. The callbacks themselves never
raise into training.
"""


def transformers_callback(watch=False):
    """Returns a callback for Hugging Face's `Trainer(callbacks=[...])`: steps, phases, and the Trainer's log values.

    watch: True, or a dict of arguments for watch(), hooks the Trainer's model and optimizer. Raises ImportError.
    """
    from .integrations import transformers
    return transformers.PitwallCallback(watch)


def lightning_callback(watch=False):
    """Returns a callback for Lightning's `Trainer(callbacks=[...])`: steps, phases, the loss, and the module's log values.

    watch: as for transformers_callback(). Raises ImportError.
    """
    from .integrations import lightning
    return lightning.PitwallCallback(watch)


def xgboost_callback(*, every=5, trees_every=1, classification=None, loss=None, train_data=("train", "training", "dtrain"),
                     eval_data=None, features=100):
    """Returns a callback for `xgboost.train(callbacks=[...])` and `cv()`: a boosting round is a step.

    Records metrics, trees, and the importance of features. every: interval in rounds at which the importance of features and the
    predictions are read; 0: never. trees_every: the same interval for the new trees. classification: a DMatrix with labels whose
    predictions go to log_classification(). loss: the metric recorded as train_loss too; defaults to the first metric known to be
    a loss. train_data: names that the training data may have in evals. eval_data: the data whose loss is recorded in mode eval;
    defaults to the last other data, as for early stopping. features: maximum number of features sent, the most important first.
    Raises ImportError.
    """
    from .integrations import xgboost
    return xgboost.PitwallCallback(every, trees_every, classification, loss, train_data, eval_data, features)
