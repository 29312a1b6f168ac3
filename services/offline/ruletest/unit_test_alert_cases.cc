#include "services/offline/ruletest/unit_test_alert_cases.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "services/base/text/strings.h"
#include "services/base/yaml/builder.h"
#include "services/offline/ruletest/unit_test_variables.h"

namespace pitwall::offline {

namespace {

using yaml::Builder;
using yaml::Node;
using yaml::Problem;

constexpr std::string_view kSilentAt = "silent_at";

std::vector<Node> TimesOf(const Node& times) {
  return times.IsSequence() ? times.items() : std::vector<Node>{times};
}

// Moves the labels and annotations of the single expected alert to `exp_alerts`.
Node WithExpectedAlerts(const Node& entry, std::vector<Problem>* problems) {
  std::vector<Node::Entry> alert;
  for (const Node::Entry& one : entry.entries()) {
    if (one.key == "exp_labels" || one.key == "exp_annotations") alert.push_back(one);
  }
  if (alert.empty()) return entry;
  if (entry.Find("exp_alerts") != nullptr) {
    problems->push_back(
        {alert.front().key_position, Cat("a case has ", alert.front().key,
                                         " and exp_alerts; write it in an entry of exp_alerts")});
  }
  std::vector<Node::Entry> entries =
      WithoutKeys(entry, {"exp_labels", "exp_annotations", "exp_alerts"}).entries();
  entries.push_back({"exp_alerts", entry.position(),
                     Builder::Sequence(entry, {Builder::Map(entry, std::move(alert))})});
  return Builder::Map(entry, std::move(entries));
}

// Returns false if `times` is not a list of times at which the entry may expect no alert.
bool CheckTimes(const Node& entry, const Node& times, std::vector<Problem>* problems) {
  if (!times.IsScalar() && (!times.IsSequence() || times.items().empty())) {
    problems->push_back(
        {times.position(), Cat(kSilentAt, " must be a time or a list of times, not ",
                               times.IsSequence() ? "an empty list" : times.KindName())});
    return false;
  }
  const Node* others = entry.Find("eval_time");
  if (others == nullptr) return true;
  for (const Node& time : TimesOf(times)) {
    for (const Node& other : TimesOf(*others)) {
      if (other.scalar() != time.scalar()) continue;
      problems->push_back({time.position(), Cat("a time is in eval_time and ", kSilentAt, " (",
                                                time.scalar(), "); remove one of them")});
      return false;
    }
  }
  return true;
}

}  // namespace

void SetKey(std::vector<Node::Entry>* entries, Node::Entry entry) {
  const auto found = std::find_if(entries->begin(), entries->end(),
                                  [&](const Node::Entry& one) { return one.key == entry.key; });
  if (found == entries->end()) {
    entries->push_back(std::move(entry));
  } else {
    *found = std::move(entry);
  }
}

Node WithAlert(const Node& entry, const std::string& alert) {
  if (alert.empty() || !entry.IsMap() || entry.Find("alertname") != nullptr) return entry;
  std::vector<Node::Entry> entries = entry.entries();
  entries.push_back({"alertname", entry.position(), Builder::Scalar(entry, alert)});
  return Builder::Map(entry, std::move(entries));
}

std::vector<Node> AlertCasesOf(const Node& entry, std::vector<Problem>* problems) {
  const Node* times = entry.Find(kSilentAt);
  if (times == nullptr) return {WithExpectedAlerts(entry, problems)};
  const Node rest = WithoutKeys(entry, {kSilentAt});
  if (!CheckTimes(entry, *times, problems)) return {};
  std::vector<Node::Entry> silent = {{"eval_time", KeyPositionOf(entry, kSilentAt), *times}};
  bool timed = false;
  for (const Node::Entry& one : rest.entries()) {
    if (one.key == "alertname") silent.push_back(one);
    timed = timed || one.key == "eval_time";
  }
  std::vector<Node> cases = {Builder::Map(entry, silent)};
  if (timed) {
    cases.push_back(WithExpectedAlerts(rest, problems));
    return cases;
  }
  for (const Node::Entry& one : rest.entries()) {
    if (one.key == "alertname") continue;
    problems->push_back({one.key_position, Cat(one.key, " does not apply to the times of ",
                                               kSilentAt, "; write it with an eval_time")});
  }
  return cases;
}

}  // namespace pitwall::offline
