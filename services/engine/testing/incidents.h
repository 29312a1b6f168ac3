// Test helper for issues with short names and their incidents.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/binary.h"
#include "services/base/text/strings.h"
#include "services/engine/incidents/incidents.h"
#include "services/engine/testing/engine_feed.h"

namespace pitwall::engine {

inline constexpr char kRules[] = R"rules(
groups:
- name: g
  rules:
  - {alert: Alone, expr: m > 0}
  - {alert: Other, expr: m > 0}
  - alert: Straggler
    expr: m > 0
    explains: [SlowStep, {alert: LowGPU, equal: [node]}]
  - {alert: SlowStep, expr: m > 0, explains: [LowThroughput]}
  - {alert: LowThroughput, expr: m > 0}
  - {alert: LowGPU, expr: m > 0}
  - {alert: IO, expr: m > 0, explains: [LowGPU]}
  - {alert: A, expr: m > 0, explains: [B]}
  - {alert: B, expr: m > 0, explains: [C]}
  - {alert: C, expr: m > 0, explains: [A]}
  - {alert: Last, expr: m > 0}
)rules";

inline int64_t Seconds(int64_t s) { return ShardForTest::kBase + s * kNanosPerSecond; }

// Tracker for issues with short names: "Straggler", or "LowGPU/n1" with the label node="n1".
class Tracked {
 public:
  explicit Tracked(std::string_view rules = kRules, EngineOptions options = {})
      : program_(ProgramForTest(rules)), options_(options) {
    tracker_.emplace(options_, &counters_);
    tracker_->SetProgram(program_.get());
  }

  // Applies events: "+Name" found, "-Name" cleared, "!Name" ended with its attempt, "~Name"
  // updated, "^Name" updated with twice the value. `began` is the onset of the issues found.
  // Returns the events.
  std::vector<IssueEvent> At(int64_t s, std::vector<std::string> said, int64_t began = -1) {
    std::vector<IssueEvent> events;
    for (const std::string& word : said) events.push_back(Event(s, word, began < 0 ? s : began));
    changes_ = tracker_->Apply(events);
    for (const IssueEvent& event : events) incident_[NameOf(event)] = event.incident;
    for (const auto& change : changes_)
      root_[NameOf(change.rule, change.labels)] = change.root_cause;
    return events;
  }
  // Simulates a crash and a restore.
  void Restart() {
    BinaryWriter out;
    tracker_->Save(out);
    tracker_.emplace(options_, &counters_);
    tracker_->SetProgram(program_.get());
    BinaryReader in(out.data());
    tracker_->Restore(in);
    EXPECT_TRUE(in.Finish("tracker").ok());
    BinaryWriter again;
    tracker_->Save(again);
    EXPECT_EQ(again.data(), out.data());
  }
  void Reload(std::string_view text) {
    program_ = ProgramForTest(text);
    tracker_->SetProgram(program_.get());
  }
  std::string Incident(const std::string& name) { return ids_[incident_[name]]; }
  std::string Root(const std::string& name) { return ids_[root_[name]]; }
  // Returns the names of the issues whose root cause changed in the last call to At. "!" marks a
  // change that an event already reports.
  std::vector<std::string> Changes() const {
    std::vector<std::string> out;
    for (const auto& change : changes_)
      out.push_back(Cat(NameOf(change.rule, change.labels), change.told ? "!" : ""));
    std::sort(out.begin(), out.end());
    return out;
  }
  std::string NameOfId(const std::string& id) { return ids_[id]; }
  IncidentTracker& tracker() { return *tracker_; }
  uint64_t untracked() const { return counters_.untracked_issues; }

 private:
  static std::string NameOf(std::string_view rule, const Labels& labels) {
    std::string name(rule.substr(rule.rfind('/') + 1));
    if (labels.Has("node")) CatTo(name, "/", labels.Get("node"));
    return name;
  }
  static std::string NameOf(const IssueEvent& e) { return NameOf(e.rule, e.labels); }
  IssueEvent Event(int64_t s, const std::string& word, int64_t began) {
    const std::string name = word.substr(1);
    const size_t slash = name.find('/');
    IssueEvent e;
    e.job = "job";
    e.alert = name.substr(0, slash);
    e.rule = Cat("pack/g/", e.alert);
    e.labels = Labels({{"alertname", e.alert}});
    for (const plan::Rule& rule : program_->domains[0].groups[0].rules) {
      if (rule.alert != e.alert) continue;
      for (const plan::Template& label : rule.labels)
        e.labels = e.labels.With(label.name, label.text);
    }
    if (slash != std::string::npos) e.labels = e.labels.With("node", name.substr(slash + 1));
    e.time = EventTime::FromNs(Seconds(s));
    if (word[0] == '+') {
      began_[name] = Seconds(began);
      sequence_[name] = 0;
      value_[name] = 1;
    }
    if (word[0] == '^') value_[name] *= 2;
    e.value = value_[name];
    e.active_since = EventTime::FromNs(began_[name]);
    e.sequence = ++sequence_[name];
    e.type = word[0] == '+'                     ? EventType::kIssueFound
             : word[0] == '~' || word[0] == '^' ? EventType::kIssueUpdated
                                                : EventType::kIssueResolved;
    if (word[0] == '-') e.end_reason = EndReason::kCleared;
    if (word[0] == '!') e.end_reason = EndReason::kAttemptEnded;
    e.id = MakeEventId(e);
    if (word[0] == '+') ids_[e.id] = name;
    return e;
  }

  plan::ProgramPtr program_;
  EngineOptions options_;
  EngineCounters counters_;
  std::optional<IncidentTracker> tracker_;
  std::vector<IncidentTracker::RootCauseChange> changes_;
  std::map<std::string, int64_t> began_;
  std::map<std::string, uint64_t> sequence_;
  std::map<std::string, double> value_;
  std::map<std::string, std::string> ids_, incident_, root_;
};

}  // namespace pitwall::engine
