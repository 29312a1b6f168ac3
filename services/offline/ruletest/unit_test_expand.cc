#include "services/offline/ruletest/unit_test_expand.h"

#include <map>
#include <string>
#include <utility>

#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/builder.h"
#include "services/base/yaml/values.h"
#include "services/offline/ruletest/unit_test_alert_cases.h"
#include "services/offline/ruletest/unit_test_series.h"
#include "services/offline/ruletest/unit_test_variables.h"

namespace pitwall::offline {

namespace {

using yaml::Builder;
using yaml::Node;
using yaml::Problem;

// A named part of the file, which some test must use.
struct Part {
  yaml::Position position;
  Node value;
  bool used = false;
};
using Parts = std::map<std::string, Part>;

// Returns the alert in a test's name of the form "Alert: what it shows", or "".
std::string AlertIn(const Node& name) {
  const size_t end = name.scalar().find(": ");
  if (end == std::string::npos || end > name.scalar().find(' ')) return "";
  return name.scalar().substr(0, end);
}

class Expander {
 public:
  explicit Expander(std::vector<Problem>* problems) : problems_(problems), variables_(problems) {}

  Node File(const Node& root) {
    if (!root.IsMap()) return root;
    fixtures_ = ReadParts(root, "fixtures");
    alert_labels_ = ReadParts(root, "alert_labels");
    for (const auto& [alert, labels] : alert_labels_) {
      if (!labels.value.IsMap())
        Add(labels.position, Cat("labels must be a map, not ", labels.value.KindName()));
    }
    std::vector<Node::Entry> out;
    for (const Node::Entry& entry : root.entries()) {
      if (entry.key == "clock" || entry.key == "interval") {
        defaults_.push_back(entry);
      } else if (entry.key == "alert_in_name") {
        ReadAlertInName(entry.value);
      } else if (entry.key != "fixtures" && entry.key != "alert_labels") {
        out.push_back(entry);
      }
    }
    for (Node::Entry& entry : out) {
      if (entry.key == "tests") entry.value = Tests(entry.value);
    }
    ReportUnused(fixtures_, "no test uses the fixture ");
    ReportUnused(alert_labels_, "no test expects the alert ");
    return Builder::Map(root, std::move(out));
  }

 private:
  Parts ReadParts(const Node& root, std::string_view key) {
    Parts parts;
    const Node* map = root.Find(key);
    if (map == nullptr) return parts;
    if (!map->IsMap()) {
      Add(map->position(), Cat(key, " must be a map, not ", map->KindName()));
    }
    for (const Node::Entry& entry : map->entries())
      parts[entry.key] = {entry.key_position, entry.value};
    return parts;
  }

  void ReadAlertInName(const Node& node) {
    const auto value = yaml::ToBool(node);
    alert_in_name_ = value.ok() && *value;
    if (!alert_in_name_) Add(node.position(), "alert_in_name must be true or absent");
  }

  void ReportUnused(const Parts& parts, std::string_view what) {
    for (const auto& [name, part] : parts) {
      if (!part.used) Add(part.position, Cat(what, Quote(name), "; remove it"));
    }
  }

  // Expands each entry of a list, with its repetitions. Other nodes are for the reader to report.
  Node List(const Node& list, auto expand) {
    if (!list.IsSequence()) return variables_.Substitute(list);
    std::vector<Node> out;
    for (const Node& item : list.items()) {
      variables_.Repeat(item, [&] { expand(WithoutKeys(item, {"for"}), &out); });
    }
    return Builder::Sequence(list, std::move(out));
  }

  Node Tests(const Node& list) {
    return List(list,
                [&](const Node& test, std::vector<Node>* out) { out->push_back(Test(test)); });
  }

  Node Test(const Node& test) {
    if (!test.IsMap()) return variables_.Substitute(test);
    const Node* name = test.Find("name");
    alert_ = alert_in_name_ && name != nullptr ? AlertIn(variables_.Substitute(*name)) : "";
    std::vector<Node::Entry> out;
    std::vector<Node> statuses;
    for (const Node::Entry& entry : test.entries()) {
      Node value = entry.key == "input_series"       ? Series(entry.value)
                   : entry.key == "alert_rule_test"  ? Alerts(entry.value, &statuses)
                   : entry.key == "status_test"      ? Statuses(entry.value)
                   : entry.key == "promql_expr_test" ? Expressions(entry.value)
                                                     : variables_.Substitute(entry.value);
      out.push_back({entry.key, entry.key_position, std::move(value)});
    }
    AddStatuses(test, statuses, &out);
    const bool timed = test.Find("interval") != nullptr;
    for (const Node::Entry& entry : defaults_) {
      if (entry.key == "clock" && test.Find("clock") == nullptr && !timed) out.push_back(entry);
    }
    const Node built = Builder::Map(test, out);
    const Node* clock = built.Find("clock");
    for (const Node::Entry& entry : defaults_) {
      if (entry.key == "interval" && !timed && (clock == nullptr || clock->scalar() != "step"))
        out.push_back(entry);
    }
    return Builder::Map(test, std::move(out));
  }

  static void AddStatuses(const Node& test, const std::vector<Node>& statuses,
                          std::vector<Node::Entry>* out) {
    if (statuses.empty()) return;
    std::vector<Node> all = statuses;
    for (const Node::Entry& entry : *out) {
      if (entry.key == "status_test" && entry.value.IsSequence())
        all.insert(all.end(), entry.value.items().begin(), entry.value.items().end());
    }
    SetKey(out, {"status_test", test.position(), Builder::Sequence(test, std::move(all))});
  }

  Node Series(const Node& list) {
    if (!list.IsSequence()) return variables_.Substitute(list);
    InputSeriesList series(problems_);
    for (const Node& item : list.items()) AddSeries(item, &series, nullptr);
    return Builder::Sequence(list, series.Take());
  }

  // `fixture`: the fixture that has the entry, or null.
  void AddSeries(const Node& item, InputSeriesList* series, const std::string* fixture) {
    const bool made = fixture != nullptr || item.Find("for") != nullptr;
    const Node* name = item.Find("fixture");
    variables_.Repeat(item, [&] {
      if (name == nullptr) {
        series->Add(variables_.Substitute(WithoutKeys(item, {"for"})), made);
      } else if (fixture != nullptr) {
        Add(item.position(), Cat("fixture ", Quote(*fixture), " must not use another fixture"));
      } else {
        AddFixture(item, variables_.Substitute(*name), series);
      }
    });
  }

  void AddFixture(const Node& item, const Node& name, InputSeriesList* series) {
    for (const Node::Entry& entry : item.entries()) {
      if (entry.key != "fixture" && entry.key != "for") {
        Add(entry.key_position, Cat("an entry with fixture must not have the key ",
                                    Quote(entry.key), "; only for is allowed"));
        return;
      }
    }
    const auto found = fixtures_.find(name.scalar());
    if (found == fixtures_.end()) {
      std::vector<std::string_view> names;
      for (const auto& [known, part] : fixtures_) names.push_back(known);
      Add(name.position(),
          Cat("no fixture has the name ", Quote(name.scalar()), DidYouMean(name.scalar(), names)));
      return;
    }
    found->second.used = true;
    const Node& entries = found->second.value;
    if (!entries.IsSequence()) {
      Add(entries.position(), Cat("a fixture must be a list of series, not ", entries.KindName()));
      return;
    }
    if (!variables_.Count(entries)) return;
    variables_.Isolate(item, [&] {
      for (const Node& entry : entries.items()) AddSeries(entry, series, &found->first);
    });
  }

  // Expands a list of cases. `forms`: returns the cases of an entry without short forms.
  Node Cases(const Node& list, auto forms) {
    return List(list, [&](const Node& item, std::vector<Node>* out) {
      std::vector<Node::Entry> entries;
      for (const Node::Entry& entry : item.entries()) {
        entries.push_back({entry.key, entry.key_position,
                           entry.key == "exp_alerts" || entry.key == "exp_samples"
                               ? Expected(entry.value)
                               : variables_.Substitute(entry.value)});
      }
      const Node substituted = item.IsMap() ? Builder::Map(item, std::move(entries)) : item;
      for (const Node& one : forms(substituted)) Split(one, out);
    });
  }

  Node Expressions(const Node& list) {
    return Cases(list, [](const Node& item) { return std::vector<Node>{item}; });
  }

  Node Statuses(const Node& list) {
    return Cases(list,
                 [&](const Node& item) { return std::vector<Node>{WithAlert(item, alert_)}; });
  }

  Node Expected(const Node& list) {
    return List(list, [&](const Node& item, std::vector<Node>* out) {
      out->push_back(variables_.Substitute(item));
    });
  }

  // Adds one case for each element of a list in eval_time and alertname.
  void Split(const Node& item, std::vector<Node>* out) {
    for (const std::string_view key : {"eval_time", "alertname"}) {
      const Node* list = item.Find(key);
      if (list == nullptr || !list->IsSequence()) continue;
      if (list->items().empty()) Add(list->position(), Cat(key, " must not be an empty list"));
      for (const Node& value : list->items()) {
        if (!variables_.Count(item)) return;
        std::vector<Node::Entry> entries = item.entries();
        SetKey(&entries, {std::string(key), KeyPositionOf(item, key), value});
        Split(Builder::Map(item, std::move(entries)), out);
      }
      return;
    }
    out->push_back(item);
  }

  // Moves statuses to `statuses`, and adds the labels of all alerts of a name.
  Node Alerts(const Node& list, std::vector<Node>* statuses) {
    const Node cases = Cases(
        list, [&](const Node& item) { return AlertCasesOf(WithAlert(item, alert_), problems_); });
    std::vector<Node> out;
    for (const Node& one : cases.items()) {
      const Node* name = one.Find("alertname");
      const bool judged = one.Find("status") != nullptr || one.Find("reason") != nullptr;
      if (judged) statuses->push_back(WithoutKeys(one, {"exp_alerts"}));
      std::vector<Node::Entry> entries = WithoutKeys(one, {"status", "reason"}).entries();
      const auto labels = alert_labels_.find(name == nullptr ? "" : name->scalar());
      for (Node::Entry& entry : entries) {
        if (entry.key == "exp_alerts" && labels != alert_labels_.end())
          entry.value = AddLabels(entry.value, &labels->second);
      }
      out.push_back(one.IsMap() ? Builder::Map(one, std::move(entries)) : one);
    }
    return cases.IsSequence() ? Builder::Sequence(cases, std::move(out)) : cases;
  }

  static Node AddLabels(const Node& alerts, Part* labels) {
    std::vector<Node> out;
    for (const Node& alert : alerts.items()) {
      labels->used = true;
      const Node* own = alert.Find("exp_labels");
      if (!alert.IsMap() || (own != nullptr && !own->IsMap())) {
        out.push_back(alert);
        continue;
      }
      std::vector<Node::Entry> all = own == nullptr ? std::vector<Node::Entry>() : own->entries();
      for (const Node::Entry& label : labels->value.entries()) {
        if (own == nullptr || own->Find(label.key) == nullptr) all.push_back(label);
      }
      std::vector<Node::Entry> entries = alert.entries();
      SetKey(&entries, {"exp_labels", alert.position(), Builder::Map(alert, std::move(all))});
      out.push_back(Builder::Map(alert, std::move(entries)));
    }
    return alerts.IsSequence() ? Builder::Sequence(alerts, std::move(out)) : alerts;
  }

  void Add(yaml::Position position, std::string what) {
    problems_->push_back({position, std::move(what)});
  }

  std::vector<Problem>* const problems_;
  TestVariables variables_;
  Parts fixtures_;
  Parts alert_labels_;
  std::vector<Node::Entry> defaults_;  // of each test
  bool alert_in_name_ = false;
  std::string alert_;  // in the current test's name, for cases without an alertname; or ""
};

}  // namespace

Node ExpandUnitTests(const Node& root, std::vector<Problem>* problems) {
  return Expander(problems).File(root);
}

}  // namespace pitwall::offline
