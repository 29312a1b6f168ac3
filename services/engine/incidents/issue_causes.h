// Causes and symptoms among the issues of a job, by the `explains` of the rules in force
// (rules/lang).
//
// An issue of a rule is a cause of the issues of the alerts that the rule names, where
//  * the labels named in `equal` have equal values (absent = empty, as in Alertmanager's
//  inhibition),
//  * both name the same rank and the same node, as far as both name one, unless the relation is
//    job-wide: what slows rank 3 is never why rank 5 is slow. The node of a rank is one that the
//    issue names,
//  * the symptom did not begin more than the relation's lag before the cause,
//  * the cause began at most the relation's `within` before the symptom, or its value rose by half
//  then: a condition that has lasted for an hour did not cause what begins now,
//  * the cause separates the symptom's rank from the others, where the symptom is that this rank
//  loses time: a fact of all nodes or ranks does not (TrackedIssue::everywhere). Only such a fact
//  explains a symptom that all ranks have (label ranks="all").
// A rule set that is new has no circles (rules/plan/cause_graph.h). An older one may: between
// issues of rules in a circle only the one that began first explains the other, so that no issue is
// ever, by whatever way, a cause of itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/text/strings.h"
#include "services/model/issues/cause_class.h"
#include "services/model/labels.h"

namespace pitwall::engine {

// An issue as far as incidents need it. Times are event time in Unix nanoseconds.
struct TrackedIssue {
  std::string id;  // IssueId
  std::string rule;
  std::string alert;
  Labels labels;
  std::string node;      // of the rank that the labels name, where they name no node; "": not known
  int64_t onset_ns = 0;  // when it became pending
  double level = 0;      // its value when it was found, or when it last rose
  int64_t rose_ns = 0;   // when its value last rose by half; 0: never
  std::string incident;
  bool open = true;
  int64_t ended_at_ns = 0;
  std::string root_cause;  // id of an issue; "": itself a root, or alone
  std::string cause_rule;  // of the cause by which root_cause was found
  // Of an issue of a node or a rank: its alert is open on every node on which the job has ranks, or
  // for every rank, and the job has several ranks. Such a fact is no reason why one rank loses time
  // and others do not.
  bool everywhere = false;
  RootOrder order;  // of the labels and the onset

  // Scratch of IncidentTracker::Apply.
  bool fresh = false;       // found in it
  uint64_t told = 0;        // serial of the Apply with an event that tells root_cause
  uint64_t top_serial = 0;  // of which `top` is
  const TrackedIssue* top = nullptr;
};

// The order that decides wherever two issues are equally good: onset, rule, labels.
bool Precedes(const TrackedIssue& a, const TrackedIssue& b);

// False: the cause is everywhere, and the symptom is that a named rank loses time. Or the cause is
// that of one place, and the symptom is that of all ranks.
bool Separates(const TrackedIssue& cause, const TrackedIssue& symptom);

// Looks causes up in time O(log issues) per relation of the symptom's alert. Issues are borrowed:
// they must be removed before they go, and keep id, rule, alert, labels and onset. Not thread-safe.
class IssueCauses {
 public:
  // A cause whose onset lies within `window_ns` before the symptom's is stronger than others. It is
  // also the lag of relations that give none.
  explicit IssueCauses(int64_t window_ns) : window_ns_(window_ns) {}

  // Forgets all issues. Null: there are no rules.
  void SetProgram(const plan::Program* program);

  void Add(const TrackedIssue& issue);     // open or ended, as it is
  void Remove(const TrackedIssue& issue);  // with `open` as it was added

  // The strongest open (ended) cause of an issue, which need not have been added: an onset close to
  // the symptom's first, then class and severity (RootOrder), then the one that Precedes. Null:
  // none.
  const TrackedIssue* StrongestCause(const TrackedIssue& symptom, bool open) const;
  // Of the open issues that `cause` may explain, that no open cause explains yet, and that are
  // `own`, the one that Precedes all others. Null: none.
  const TrackedIssue* FirstSymptom(const TrackedIssue& cause,
                                   const std::function<bool(const TrackedIssue&)>& own) const;
  // Whether the one may be the cause of the other: by relation, place and onset.
  bool MayExplain(const TrackedIssue& cause, const TrackedIssue& symptom) const;
  // Whether some rule explains issues of `alert`; whether `rule` does.
  bool IsExplained(std::string_view alert) const { return explained_.contains(alert); }
  bool Explains(std::string_view rule, std::string_view alert) const;
  // Whether some alert is explained by `rule`.
  bool IsCause(std::string_view rule) const;
  // Whether some alert explains both.
  bool ShareACause(std::string_view alert, std::string_view other) const;

 private:
  struct Before {
    bool operator()(const TrackedIssue* a, const TrackedIssue* b) const { return Precedes(*a, *b); }
  };
  using Ordered = std::set<const TrackedIssue*, Before>;
  using ByKey =
      std::map<std::string, Ordered, std::less<>>;  // by the values of the labels in `equal`

  // One item of a rule's `explains`.
  struct Relation {
    std::string alert;
    std::vector<std::string> equal;
    std::vector<std::string> same;  // labels whose values must be equal where both have one
    int64_t lag_ns = 0;
    int64_t within_ns = -1;  // -1: without a limit
    uint32_t circle = 0;     // of the rule
    std::string cause;       // alert of the rule
    ByKey open_causes, ended_causes, open_symptoms;
  };
  struct RuleLinks {
    std::vector<uint32_t> relations;  // as a cause
    // Rules of one number explain each other in a circle; each other rule has a number of its own.
    uint32_t circle = 0;
  };

  void FindCircles(const std::vector<std::string>& rules,
                   const StringMap<std::vector<uint32_t>>& rules_of_alert);
  // An issue is kept under every key by which its partners may ask for it: for each label of `same`
  // under its own value (or that it has none), and under that of any.
  static std::vector<std::string> KeysToKeep(const Relation& relation, const TrackedIssue& issue);
  // Keys by which all partners are found: for each label of `same` those of its value and those
  // without one; any, where the issue itself has none.
  static std::vector<std::string> KeysToAsk(const Relation& relation, const TrackedIssue& issue);
  static std::string KeyOf(const Relation& relation, const Labels& labels);
  static std::vector<std::string> WithParts(std::vector<std::string> keys, std::string_view part,
                                            std::string_view other);
  bool IsNear(const TrackedIssue& cause, const TrackedIssue& symptom) const;
  // Whether the cause began, or rose, within the relation's limits around the symptom's onset.
  static bool IsInTime(const TrackedIssue& cause, const TrackedIssue& symptom,
                       const Relation& relation);
  // The strongest of those kept under one key.
  const TrackedIssue* StrongestOf(const Ordered& causes, const TrackedIssue& symptom,
                                  const Relation& relation, bool circle) const;

  const int64_t window_ns_;
  std::vector<Relation> relations_;
  StringMap<RuleLinks> rules_;                  // by name
  StringMap<std::vector<uint32_t>> explained_;  // relations by alert
};

}  // namespace pitwall::engine
