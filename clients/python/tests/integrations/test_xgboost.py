"""Tests for the XGBoost callback with the real library and small synthetic data."""
import json
import logging

from framework_support import CallbackTest, framework

import pitwall
from pitwall import _guard

xgboost, requires_xgboost = framework("xgboost")
numpy, requires_numpy = framework("numpy")


def _depth(node, depth=0):
    """Returns the maximum depth and node ID, computed from XGBoost's other dump format."""
    found = [_depth(child, depth + 1) for child in node.get("children", ())]
    return max([depth] + [pair[0] for pair in found]), max([node["nodeid"]] + [pair[1] for pair in found])


@requires_numpy
@requires_xgboost
class XgboostTest(CallbackTest):
    def data(self, classes=2, columns=6):
        random = numpy.random.default_rng(1)
        features = random.normal(size=(300, columns))
        labels = (numpy.argmax(features[:, :classes] + random.normal(size=(300, classes)), 1))
        return xgboost.DMatrix(features[:200], labels[:200]), xgboost.DMatrix(features[200:], labels[200:])

    def train(self, rounds, callback, parameters=None, classes=2, evals=True, columns=6, **named):
        train, held_out = self.data(classes, columns)
        history = {}
        booster = xgboost.train(
            dict({"objective": "binary:logistic", "max_depth": 4, "nthread": 1}, **(parameters or {})), train, rounds,
            evals=[(train, "train"), (held_out, "eval")] if evals else [], evals_result=history, verbose_eval=False,
            callbacks=[callback], **named)
        return booster, history

    def test_rounds_are_steps_and_losses_are_recorded(self):
        _, history = self.train(6, pitwall.xgboost_callback(), {"eval_metric": ["error", "logloss"]})
        values = self.sent()
        self.assertEqual(self.spans_of("step"), list(range(6)))
        for mode in ("train", "eval"):
            for metric in ("error", "logloss"):
                self.assertEqual(self.of(values, "train_metric", mode, data=mode, metric=metric),
                                 list(enumerate(history[mode][metric])))
            self.assertEqual(self.of(values, "train_loss", mode), list(enumerate(history[mode]["logloss"])))

    def test_loop_is_open_until_train_returns_or_raises(self):
        seen = []

        class Look(xgboost.callback.TrainingCallback):
            def after_iteration(look, model, epoch, evals_log):
                seen.append(self.loop_is_open())
                if epoch == fail_at:
                    raise ValueError("in a callback")
                return False
        for fail_at in (None, 2):
            callbacks = [pitwall.xgboost_callback(), Look()]
            train, _ = self.data()
            try:
                xgboost.train({"objective": "binary:logistic", "nthread": 1}, train, 4, callbacks=callbacks)
            except ValueError:
                self.assertEqual(fail_at, 2)
            self.wait_until_loop_closed()
        self.assertEqual(seen, [True] * 7)

    def test_only_trees_of_current_round_are_sent(self):
        booster, _ = self.train(4, pitwall.xgboost_callback(), {"objective": "multi:softprob", "num_class": 3}, 3)
        values = self.sent()
        dumps = [_depth(json.loads(tree)) for tree in booster.get_dump(dump_format="json")]
        self.assertEqual(len(dumps), 12)
        self.assertGreater(len(set(dumps)), 1)
        for tree in range(3):
            rounds = dumps[tree::3]
            self.assertEqual(self.of(values, "train_tree_depth", tree=str(tree)), [(n, d) for n, (d, _) in enumerate(rounds)])
            self.assertEqual(self.of(values, "train_tree_node_id_max", tree=str(tree)),
                             [(n, i) for n, (_, i) in enumerate(rounds)])
        self.assertEqual({v[1]["tree"] for v in values if v[0] == "train_tree_depth"}, {"0", "1", "2"})

    def test_importance_ratios_are_limited_in_number(self):
        booster, _ = self.train(7, pitwall.xgboost_callback(features=4))
        values = self.sent()
        shares = [v for v in values if v[0] == "train_feature_importance_ratio"]
        self.assertEqual({(v[1]["type"], v[3]) for v in shares},
                         {(kind, step) for step in (0, 5) for kind in ("weight", "gain", "cover", "total_gain", "total_cover")})
        for kind in ("weight", "gain", "cover", "total_gain", "total_cover"):
            scores = booster[:6].get_score(importance_type=kind)
            right = sorted((score / sum(scores.values()) for score in scores.values()), reverse=True)[:4]
            found = {v[1]["feature"]: v[2] for v in shares if v[1]["type"] == kind and v[3] == 5}
            self.assertEqual(len(found), 4)
            for share, wanted in zip(sorted(found.values(), reverse=True), right):
                self.assertAlmostEqual(share, wanted, 9)
                self.assertAlmostEqual(sum(scores[n] for n in found if found[n] == share) / sum(scores.values()),
                                       share * sum(v == share for v in found.values()), 9)

    def test_unused_features_have_importance_0(self):
        self.train(1, pitwall.xgboost_callback(), {"max_depth": 1})
        weights = [(v[1]["feature"], v[2]) for v in self.sent()
                   if v[0] == "train_feature_importance_ratio" and v[1]["type"] == "weight"]
        self.assertEqual(len(weights), 6)
        self.assertEqual(sorted(share for _, share in weights), [0, 0, 0, 0, 0, 1])

    def test_predictions_and_labels_are_counted(self):
        for parameters, classes in (({}, 2), ({"objective": "binary:logitraw"}, 2),
                                    ({"objective": "multi:softmax", "num_class": 3}, 3),
                                    ({"objective": "multi:softprob", "num_class": 3}, 3)):
            _, held_out = self.data(classes)
            booster, _ = self.train(1, pitwall.xgboost_callback(classification=held_out), parameters, classes)
            scores = booster.predict(held_out)
            limit = 0 if "logitraw" in str(parameters) else 0.5
            predicted = scores > limit if classes == 2 else scores if scores.ndim == 1 else scores.argmax(1)
            labels = held_out.get_label()
            found = {(int(v[1]["label"]), int(v[1]["prediction"])): v[2] for v in self.sent()
                     if v[0] == "train_confusion_samples"}
            right = {(a, b): float(((labels == a) & (predicted == b)).sum()) for a in range(classes) for b in range(classes)}
            self.fake.close()
            self.fake = self.collector()
            self.start(self.fake)
            self.assertEqual(found, right, parameters)

    def test_score_bins_give_area_under_roc_curve(self):
        _, held_out = self.data(2)
        booster, _ = self.train(1, pitwall.xgboost_callback(classification=held_out), {})
        found = {(v[1]["class"], int(v[1]["bin"])): v[2] for v in self.sent() if v[0] == "train_score_samples"}
        self.assertEqual(len(found), 100)
        labels, scores = held_out.get_label(), booster.predict(held_out)
        self.assertEqual(sum(n for (label, _), n in found.items() if label == "1"), (labels == 1).sum())
        for label, score in zip(labels, scores):
            found[str(int(label)), min(int(score * 50), 49)] -= 1
        self.assertEqual(set(found.values()), {0})

    def test_regression_residuals_are_binned(self):
        train, held_out = self.data(2)
        booster, _ = self.train(1, pitwall.xgboost_callback(classification=held_out),
                                {"objective": "reg:squarederror", "eval_metric": "rmse"})
        bins = {int(v[1]["bin"]): (float(v[1]["from"]), v[2]) for v in self.sent() if v[0] == "train_residual_samples"}
        self.assertEqual(len(bins), 40)
        differences = held_out.get_label() - booster.predict(held_out)
        self.assertEqual(sum(count for _, count in bins.values()), len(differences))
        for at in range(1, 39):
            inside = sum(bins[at][0] <= one < bins[at + 1][0] for one in differences)
            self.assertAlmostEqual(bins[at][1], inside, delta=2)  # edges are sent with six significant digits

    def test_continued_booster_continues_round_count(self):
        booster, _ = self.train(3, pitwall.xgboost_callback())
        pitwall.finish(timeout=5)
        before = len(self.fake.spans())
        self.start(self.fake)
        self.train(2, pitwall.xgboost_callback(), xgb_model=booster)
        pitwall.finish(timeout=5)
        self.fake.wait_for(lambda c: len(c.messages("goodbye")) == 2)
        self.assertEqual([s["step_plus_one"] - 1 for s in self.fake.spans()[before:]], [3, 4])

    def test_cross_validation_and_linear_boosters_are_recorded(self):
        train, _ = self.data()
        table = xgboost.cv({"objective": "binary:logistic", "nthread": 1, "eval_metric": "logloss"}, train, 2, nfold=2,
                           callbacks=[pitwall.xgboost_callback()], as_pandas=False)
        self.train(3, pitwall.xgboost_callback(), {"booster": "gblinear", "verbosity": 0})
        values = self.sent()
        self.assertEqual([value for _, value in self.of(values, "train_loss", "eval")][:2], table["test-logloss-mean"])
        self.assertEqual({v[1]["type"] for v in values if v[0] == "train_feature_importance_ratio"}, {"weight"})

    def test_failure_is_logged_once_and_contained(self):
        callback = pitwall.xgboost_callback()
        callback._send_metrics = None
        _guard._logged.clear()
        with self.assertLogs("pitwall", logging.DEBUG) as log:
            booster, _ = self.train(4, callback)
        self.assertEqual(booster.num_boosted_rounds(), 4)
        self.assertEqual(len([line for line in log.output if "_after of xgboost failed" in line]), 1, log.output)
