"""Callback for XGBoost: `xgboost.train(..., callbacks=[pitwall.xgboost_callback()])`. A boosting round is a step.

The importance ratio of a feature is its score divided by the sum of all scores for that importance type, as in SageMaker Debugger. Features that do
not occur in any tree have a ratio of 0. Trees are numbered within their round (one per class and parallel tree). A tree's depth is counted in edges
from its text dump, where each line is a node that is indented by its depth: "2:leaf=0.1".
"""
from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from xgboost import Booster
from xgboost.callback import TrainingCallback

from .._guard import swallow, debug_once
from ..recording._core import Labels
from ..recording._recorder import Recorder
from ..stats import _samples
from ._progress import Progress, quiet

EvalsLog = Dict[str, Dict[str, Any]]  # data -> metric -> values of the rounds
Value = Tuple[str, Labels, float]  # metric, labels, value

IMPORTANCE = ("weight", "gain", "cover", "total_gain", "total_cover")
# Metrics that are losses, in order of preference.
LOSSES = ("logloss", "mlogloss", "poisson-nloglik", "gamma-nloglik", "cox-nloglik", "tweedie-nloglik", "aft-nloglik",
          "gamma-deviance", "quantile", "expectile", "rmse", "rmsle", "mphe", "mae", "mape", "error", "merror")
# Objectives whose predictions are in the units of the labels.
REGRESSIONS = ("reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:absoluteerror", "reg:gamma", "reg:tweedie",
               "count:poisson")
MAX_TREES = 128     # maximum per round
MAX_FEATURES = 1000
MAX_METRICS = 128   # maximum per round
_NODE = re.compile(r"^(\t*)(\d+):", re.MULTILINE)


class PitwallCallback(TrainingCallback):  # type: ignore[misc]  # a subclass of Any where mypy runs without XGBoost
    """Callback for xgboost.train() and cv(). For its arguments, see pitwall.xgboost_callback()."""

    def __init__(self, every: int, trees_every: int, classification: Any, loss: Optional[str], train_data: Union[str, Sequence[str]],
                 eval_data: Optional[str], features: int) -> None:
        super().__init__()
        self._every, self._trees_every = int(every), int(trees_every)
        self._classification = classification
        self._loss = loss
        self._train_data = (train_data,) if isinstance(train_data, str) else tuple(train_data)
        self._eval_data = eval_data
        self._features = min(max(int(features), 1), MAX_FEATURES)
        self._progress = Progress("xgboost")
        self._objective: Any = None

    def before_training(self, model: Any) -> Any:
        self._begin(model)
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        self._before(model, epoch)
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        self._after(model, epoch, evals_log)
        return False

    def after_training(self, model: Any) -> Any:
        self._end()
        return model

    @quiet
    def _begin(self, model: Any) -> None:
        self._progress.stop()
        self._progress = Progress("xgboost")
        self._progress.begin_loop()
        self._objective = None

    @quiet
    def _before(self, model: Any, epoch: int) -> None:
        # If a booster continues an earlier training run (xgb_model=), its rounds and trees are counted from the end of that run.
        self._progress.begin_step(model.num_boosted_rounds() if isinstance(model, Booster) else epoch)

    @quiet
    def _after(self, model: Any, epoch: int, evals_log: EvalsLog) -> None:
        progress = self._progress
        progress.end_step()
        recorder, number = progress.recorder, progress.number
        if recorder is None or number is None:
            return
        self._send_metrics(recorder, number, evals_log)
        if not isinstance(model, Booster):
            return  # cv() trains several boosters, and no booster is the result
        for every, look in ((self._trees_every, self._trees), (self._every, self._importance)):
            if every > 0 and number % every == 0:
                try:
                    recorder.record(look(model, number), "train", number)
                except Exception:
                    swallow("%s of xgboost" % look.__name__.strip("_"))
        if self._classification is not None and self._every > 0 and number % self._every == 0:
            self._classify(recorder, model, number)

    @quiet
    def _end(self) -> None:
        self._progress.stop()

    # Metrics.

    def _send_metrics(self, recorder: Recorder, number: int, evals_log: EvalsLog) -> None:
        data_of_mode: Dict[str, List[str]] = {"train": [], "eval": []}
        for data in evals_log:
            data_of_mode["train" if data in self._train_data else "eval"].append(data)
        for mode, datas in data_of_mode.items():
            values = [("train_metric", {"data": data, "metric": metric}, history[-1])
                      for data in datas for metric, history in evals_log[data].items() if history][:MAX_METRICS]
            judged = datas[-1] if datas else None
            if mode == "eval" and self._eval_data is not None and self._eval_data in datas:
                judged = self._eval_data
            loss = self._loss_of(evals_log[judged]) if judged is not None else None
            if judged is not None and loss is not None:
                values.append(("train_loss", {}, evals_log[judged][loss][-1]))
            if not values:
                continue
            before = recorder.set_mode(mode)
            try:
                for metric, labels, value in values:
                    value = value[0] if isinstance(value, tuple) else value  # cv() returns mean and standard deviation
                    recorder.log([(metric, float(value))], tuple(sorted(labels.items())), number)
            finally:
                recorder.set_mode(before)

    def _loss_of(self, metrics: Dict[str, Any]) -> Optional[str]:
        """Returns the name of the metric to use as the loss."""
        if self._loss is not None:
            return self._loss if metrics.get(self._loss) else None
        known: Dict[str, str] = {}
        for name in metrics:
            known.setdefault(name.partition("@")[0], name)  # e.g. tweedie-nloglik@1.5
        return next((known[name] for name in LOSSES if name in known and metrics[known[name]]), None)

    # Trees and feature importance.

    def _trees(self, model: Any, number: int) -> List[Value]:
        values: List[Value] = []
        dump = model[number:number + 1].get_dump(dump_format="text")
        if len(dump) > MAX_TREES:
            debug_once("more than %d trees in a round; the other trees are not reported", MAX_TREES)
        for tree, text in enumerate(dump[:MAX_TREES]):
            depth, highest = 0, -1
            for indent, node in _NODE.findall(text):
                depth, highest = max(depth, len(indent)), max(highest, int(node))
            if highest >= 0:
                labels = (("tree", str(tree)),)
                values += [("train_tree_depth", labels, float(depth)), ("train_tree_node_id_max", labels, float(highest))]
        return values

    def _importance(self, model: Any, _: object) -> List[Value]:
        names = model.feature_names or ["f%d" % feature for feature in range(model.num_features())]
        values: List[Value] = []
        for kind in IMPORTANCE:
            try:
                scores = model.get_score(importance_type=kind)
            except ValueError:  # gblinear only has weights
                debug_once("this booster does not support importance of type %s", kind)
                continue
            # With several classes, gblinear has one weight per class.
            sizes = {name: sum(abs(part) for part in score) if isinstance(score, list) else abs(score)
                     for name, score in scores.items()}
            total = sum(sizes.values())
            if not total > 0:
                continue
            chosen = sorted(sizes, key=lambda name: (-sizes[name], name))[:self._features]
            unused = (name for name in names if name not in sizes)
            chosen += [name for _, name in zip(range(self._features - len(chosen)), unused)]
            values += [("train_feature_importance_ratio", (("feature", name), ("type", kind)), sizes.get(name, 0) / total)
                       for name in chosen]
        return values

    # Predictions.

    def _classify(self, recorder: Recorder, model: Any, number: int) -> None:
        try:
            data = self._classification
            if self._objective is None:
                config = json.loads(model.save_config())
                self._objective = config["learner"]["objective"]["name"]
            predictions = model.predict(data)
            if self._objective == "binary:logistic":
                _samples.scores(recorder, data.get_label(), predictions, mode="train", step=number)
            if self._objective in REGRESSIONS:
                _samples.residuals(recorder, data.get_label(), predictions, mode="train", step=number)
                return
            if self._objective.startswith("binary:"):
                # logitraw predicts log odds, hinge predicts classes, and logistic predicts probabilities.
                predictions = (predictions > (0.0 if self._objective == "binary:logitraw" else 0.5)).astype("int64")
            elif not self._objective.startswith("multi:"):
                debug_once("predictions of %s are not classes", self._objective)
                self._classification = None
                return
            _samples.classification(recorder, data.get_label().astype("int64"), predictions, mode="train", step=number)
        except Exception:
            swallow("predictions of xgboost")
