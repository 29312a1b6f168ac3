"""Training run with XGBoost. $PITWALL_KIND contains the arguments of the kind: steps (rounds), pace, at, end, after."""
import time

import loop
import numpy
import pitwall
import xgboost

KIND = loop.KIND


class Pace(xgboost.callback.TrainingCallback):
    def __init__(self):
        self.culprit = loop.Culprit(0)

    def after_iteration(self, model, epoch, log):
        time.sleep(KIND["pace"])
        self.culprit.act(epoch)
        return False


def train():
    chance = numpy.random.default_rng(1)
    features = chance.normal(size=(3000, 8))
    labels = (features.sum(1) + chance.normal(size=3000) > 0).astype(float)
    rows, held_out = xgboost.DMatrix(features[:2500], labels[:2500]), xgboost.DMatrix(features[2500:], labels[2500:])
    xgboost.train({"objective": "binary:logistic", "max_depth": 3, "eta": 1.0 / KIND["steps"], "nthread": 1, "seed": 1}, rows, KIND["steps"],
                  evals=[(rows, "train"), (held_out, "eval")], verbose_eval=False,
                  callbacks=[Pace(), pitwall.xgboost_callback(classification=held_out)])


def main():
    pitwall.init()
    loop.fit_as_configured(train)
    loop.end_as_configured()


if __name__ == "__main__":
    main()
