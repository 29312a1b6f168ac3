// Causes and symptoms among the issues of a job, from the `explains` relations of the active rules
// (rules/lang).
//
// A rule's issue is a cause of another issue if the rule lists the other issue's alert and
//  * the labels listed in `equal` have equal values (absent means empty, as in Alertmanager's
//    inhibition),
//  * the relation is job-wide, or the issues have equal ranks and nodes wherever both specify them.
//    A condition that slows rank 3 never explains why rank 5 is slow. If the labels have no node,
//    the rank's node is used,
//  * the symptom began at most the relation's lag before the cause,
//  * the cause began, or its value rose by half, at most the relation's `within` before the
//    symptom, because an hour-old condition did not cause an issue that begins now,
//  * the cause separates the symptom's rank from the others, if the symptom is that one rank loses
//    time. A condition on all nodes or ranks (TrackedIssue::everywhere) does not. Conversely, only
//    such a condition explains a symptom of all ranks (label ranks="all").
// A new rule set has no cycles (rules/plan/cause_graph.h), but an older one may. Between issues of
// rules in a cycle, only the earlier issue explains the later one. Therefore no issue is ever a
// cause of itself, even indirectly.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/model/issues/cause_class.h"
#include "services/model/labels.h"

namespace pitwall::engine {

// The issue properties that incidents need.
struct TrackedIssue {
  std::string id;  // IssueId
  std::string rule;
  std::string alert;
  Labels labels;
  std::string node;  // node of the labeled rank, if no node label; "": unknown
  EventTime onset;   // start of the pending state
  double level = 0;  // value when found, or at the last rise
  EventTime rose;    // time of the last rise by half; EventTime(): never
  std::string incident;
  bool open = true;
  EventTime ended_at;
  std::string root_cause;  // issue ID; "": a root itself, or no cause
  std::string cause_rule;  // rule of the direct cause behind root_cause
  // For a node or rank issue: the alert is open on every node or rank of the job, and the job has
  // several ranks. Such a condition does not explain why a single rank loses time.
  bool everywhere = false;
  RootOrder order;  // derived from the labels and the onset

  // Scratch space for IncidentTracker::Apply.
  bool fresh = false;       // found in the current Apply
  uint64_t told = 0;        // number of the last Apply with an event that reports root_cause
  uint64_t top_serial = 0;  // number of the Apply that set `top`
  const TrackedIssue* top = nullptr;
};

// Compares by onset, rule, and labels. This order breaks all ties between issues.
bool Precedes(const TrackedIssue& a, const TrackedIssue& b);

// Returns false if the cause is everywhere and the symptom is that one rank loses time, or if the
// cause is local and the symptom concerns all ranks.
bool Separates(const TrackedIssue& cause, const TrackedIssue& symptom);

// Index of causes. A lookup takes O(log issues) per relation of the symptom's alert. Issues are
// borrowed: they must be removed before they are destroyed, and their ID, rule, alert, labels, and
// onset must not change. Not thread-safe.
class IssueCauses {
 public:
  // A cause with an onset at most `window` before the symptom's onset is stronger than an earlier
  // cause. The window is also the default lag of relations.
  explicit IssueCauses(Duration window) : window_(window) {}

  // Sets the program and forgets all issues. Null means no rules.
  void SetProgram(const plan::Program* program);

  void Add(const TrackedIssue& issue);     // an open or an ended issue
  void Remove(const TrackedIssue& issue);  // `open` must be unchanged since Add

  // Returns the strongest open (or ended) cause of an issue, or null. The issue need not have been
  // added. Causes with an onset close to the symptom's come first. Ties are broken by class and
  // severity (RootOrder), then by Precedes.
  const TrackedIssue* StrongestCause(const TrackedIssue& symptom, bool open) const;
  // Returns the first open symptom, in the order of Precedes, that `cause` may explain, that has no
  // open cause, and that `own` accepts. Returns null if there is no such symptom.
  const TrackedIssue* FirstSymptom(const TrackedIssue& cause,
                                   const std::function<bool(const TrackedIssue&)>& own) const;
  // Returns whether `cause` may explain `symptom`, based on relations, rank, node, and onset.
  bool MayExplain(const TrackedIssue& cause, const TrackedIssue& symptom) const;
  // Returns whether any rule (or the given rule) explains issues of `alert`.
  bool IsExplained(std::string_view alert) const { return explained_.contains(alert); }
  bool Explains(std::string_view rule, std::string_view alert) const;
  // Returns whether `rule` explains any alert.
  bool IsCause(std::string_view rule) const;
  // Returns whether a single alert explains both alerts.
  bool ShareACause(std::string_view alert, std::string_view other) const;

 private:
  struct Before {
    bool operator()(const TrackedIssue* a, const TrackedIssue* b) const { return Precedes(*a, *b); }
  };
  using Ordered = std::set<const TrackedIssue*, Before>;
  using ByKey =
      std::map<std::string, Ordered, std::less<>>;  // key: values of the labels in `equal`

  // One entry in a rule's `explains` list.
  struct Relation {
    std::string alert;
    std::vector<std::string> equal;
    std::vector<std::string> same;  // labels with equal values if both issues have them
    Duration lag;
    std::optional<Duration> within;  // unset means no limit
    uint32_t cycle = 0;              // cycle of the rule
    std::string cause;               // alert of the causing rule
    ByKey open_causes, ended_causes, open_symptoms;
  };
  struct RuleLinks {
    std::vector<uint32_t> relations;  // relations with the rule as cause
    // Rules that explain each other in a cycle share a number. Every other rule has a unique
    // number.
    uint32_t cycle = 0;
  };

  void FindCircles(const std::vector<std::string>& rules,
                   const StringMap<std::vector<uint32_t>>& rules_of_alert);
  // Returns every key under which a partner may look up the issue. For each label of `same`, these
  // are the issue's own value (or "absent") and "any value".
  static std::vector<std::string> KeysToKeep(const Relation& relation, const TrackedIssue& issue);
  // Returns the keys that find all partners. For each label of `same`, these are the issue's value
  // and "absent", or "any value" if the issue does not have the label.
  static std::vector<std::string> KeysToAsk(const Relation& relation, const TrackedIssue& issue);
  static std::string KeyOf(const Relation& relation, const Labels& labels);
  static std::vector<std::string> WithParts(std::vector<std::string> keys, std::string_view part,
                                            std::string_view other);
  bool IsNear(const TrackedIssue& cause, const TrackedIssue& symptom) const;
  // Returns whether the cause began, or its value rose, within the relation's limits around the
  // symptom's onset.
  static bool IsInTime(const TrackedIssue& cause, const TrackedIssue& symptom,
                       const Relation& relation);
  // Returns the strongest cause under one key.
  const TrackedIssue* StrongestOf(const Ordered& causes, const TrackedIssue& symptom,
                                  const Relation& relation, bool cycle) const;

  const Duration window_;
  std::vector<Relation> relations_;
  StringMap<RuleLinks> rules_;                  // by rule name
  StringMap<std::vector<uint32_t>> explained_;  // relations by explained alert
};

}  // namespace pitwall::engine
