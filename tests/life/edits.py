"""Random edits to the rules, like those that people make: add, remove, rename, reorder, change parameters, and change `for`."""
import copy
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
EDITS = ("add", "remove", "rename", "reorder", "params", "for")


def base():
    """Returns the rules in rules/base.yaml. The file consists of comments followed by JSON."""
    with open(os.path.join(HERE, "rules", "base.yaml")) as text:
        return json.loads("".join(line for line in text if not line.startswith("#")))


def names(rules):
    return {rule["alert"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule}


class Editor:
    """Edits the active rules and writes them to a file."""

    def __init__(self, path, random):
        self.path, self.random = path, random
        self.rules = base()
        self.spare = []  # (group, rule) for removed rules, which may be added again later
        self.count = 0
        self.write()

    def write(self):
        with open(self.path + ".new", "w") as out:
            json.dump(self.rules, out, indent=1)
        os.rename(self.path + ".new", self.path)

    def edit(self):
        """Writes one random edit. Returns {"edit", "rule", "gone": alerts that are no longer active}."""
        before = names(self.rules)
        while True:
            kind = self.random.choice(EDITS)
            rules = copy.deepcopy(self.rules)
            touched = getattr(self, "_" + kind.replace("for", "pending"))(rules)
            if touched is not None:
                break
        self.count += 1
        self.rules = rules
        self.write()
        return {"edit": kind, "rule": touched, "gone": sorted(before - names(rules))}

    def _alerts(self, rules, unless=()):
        return [(g, r) for g in rules["groups"] for r in g["rules"]
                if "alert" in r and r["alert"] != "LifeLiar" and not any(k in r for k in unless)]

    def _add(self, rules):
        if self.spare and self.random.random() < 0.7:
            name, rule = self.spare.pop(self.random.randrange(len(self.spare)))
        else:
            name, rule = "time", {"alert": "LifeAdded%d" % self.count, "labels": {"severity": "warning"},
                                  "expr": "max_over_time(train_loss[%ds]) > 5" % self.random.randint(2, 9)}
        group = next(g for g in rules["groups"] if g["name"] == name)
        group["rules"].insert(self.random.randint(0, len(group["rules"])), rule)
        return rule["alert"]

    def _remove(self, rules):
        alerts = self._alerts(rules)
        if len(alerts) < 5:
            return None
        group, rule = self.random.choice(alerts)
        group["rules"].remove(rule)
        self.spare.append((group["name"], rule))
        return rule["alert"]

    def _rename(self, rules):
        _, rule = self.random.choice(self._alerts(rules))
        old = rule["alert"]
        rule["alert"] = "%sRenamed%d" % (old.split("Renamed")[0], self.count)
        return old

    def _reorder(self, rules):
        group = self.random.choice(rules["groups"])
        self.random.shuffle(group["rules"])
        return group["name"]

    def _params(self, rules):
        alerts = [r for _, r in self._alerts(rules) if "params" in r]
        if not alerts:
            return None
        rule = self.random.choice(alerts)
        name = self.random.choice(sorted(rule["params"]))
        rule["params"][name] = round(rule["params"][name] * self.random.uniform(0.8, 1.2), 4)
        return rule["alert"]

    def _pending(self, rules):
        group, rule = self.random.choice(self._alerts(rules))
        length = self.random.randint(1, 4)
        rule["for"] = length if group.get("clock") == "step" else "%ds" % length
        return rule["alert"]
