"""The callbacks of pitwall.integrations, which import their framework only when asked for.

Each raises ImportError where the framework is not installed, and TypeError for arguments that it does not have; what the
callback does later never raises into training.
"""


def transformers_callback(watch=False):
    """For Hugging Face's `Trainer(callbacks=[...])`: steps, phases, and what the Trainer logs. watch: True, or a dict of
    arguments for watch(), to hook its model and optimizer."""
    from .integrations import transformers
    return transformers.PitwallCallback(watch)


def lightning_callback(watch=False):
    """For Lightning's `Trainer(callbacks=[...])`: steps, phases, the loss and what the module logs. watch: as above."""
    from .integrations import lightning
    return lightning.PitwallCallback(watch)


def xgboost_callback(*, every=5, trees_every=1, classification=None, loss=None, train_data=("train", "training", "dtrain"),
                     eval_data=None, features=100):
    """For `xgboost.train(callbacks=[...])` and `cv()`: a boosting round is a step; metrics, trees, importance of features.

    every: rounds between looks at the features' importance and at the predictions; 0: never. trees_every: alike for the
    new trees. classification: a DMatrix with labels, whose predictions go to log_classification(). loss: the metric that
    is train_loss too; default the first one known to be a loss. train_data: names that the training data may have in
    evals; eval_data: the one whose loss is that of mode eval; default the last other one, as for early stopping.
    features: how many of the most important are sent.
    """
    from .integrations import xgboost
    return xgboost.PitwallCallback(every, trees_every, classification, loss, train_data, eval_data, features)
