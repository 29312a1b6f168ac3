// Series that rules write: outputs of recording rules, ALERTS, and the stale markers where
// they end (rules/group.go of Prometheus says when).
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "services/base/text/strings.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/domain/rule_state.h"
#include "services/model/value.h"

namespace pitwall::engine {

namespace {

// Equal for rules that record under one name and labels.
std::string RecordedAs(const plan::Rule& rule) {
  std::string key = Cat(rule.kind == plan::RuleKind::kAlert ? "alert " : "record ", rule.alert);
  for (const plan::Template& label : rule.labels)
    CatTo(key, "\n", Quote(label.name), "=", Quote(label.text));
  return key;
}
// Equal for rules that did not change.
std::string Unchanged(const plan::Rule& rule) {
  return Cat(RecordedAs(rule), "\n", rule.name, "\n", rule.fingerprint);
}

// What element `i` of a result is recorded as.
Labels OutputLabels(const plan::Rule& rule, const eval::Vector& result, size_t i) {
  Labels labels = result.labels(i);
  for (const plan::Template& label : rule.labels) labels = labels.With(label.name, label.text);
  return labels.With(kMetricName, rule.alert);
}

}  // namespace

Status ClockDomain::BindRecorded(RuleState* state, const eval::Vector& result) {
  const plan::Rule& rule = *state->rule;
  state->element_ids.clear();
  state->element_outputs.clear();
  std::vector<Labels> outputs;
  for (size_t i = 0; i < result.size(); ++i) {
    Labels labels = OutputLabels(rule, result, i);
    ASSIGN_OR_RETURN(const window::SeriesId id, store_->Intern(labels));
    state->element_ids.push_back(id);
    outputs.push_back(std::move(labels));
  }
  std::vector<uint32_t> order(outputs.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return outputs[a] < outputs[b]; });
  const auto alike = [&](uint32_t a, uint32_t b) { return outputs[a] == outputs[b]; };
  if (std::adjacent_find(order.begin(), order.end(), alike) != order.end()) {
    state->element_outputs.resize(outputs.size());
    uint32_t output = 0;
    for (size_t k = 0; k < order.size(); ++k) {
      if (k > 0 && !alike(order[k - 1], order[k])) ++output;
      state->element_outputs[order[k]] = output;
    }
    state->output_seen.assign(output + 1, 0);
    state->serial = 0;
  }
  state->binding = result.binding;
  return OkStatus();
}

Status ClockDomain::EvaluateRecord(RuleState* state, const EvalTime& at) {
  ASSIGN_OR_RETURN(const eval::Vector* result, evaluator_->Evaluate(state->rule->expr));
  if (result->binding != state->binding) RETURN_IF_ERROR(BindRecorded(state, *result));
  state->written.clear();
  ++state->serial;
  size_t elements = 0;
  for (size_t i = 0; i < result->size(); ++i) {
    if (!result->present[i]) continue;
    ++elements;
    if (!state->element_outputs.empty()) {
      uint64_t& seen = state->output_seen[state->element_outputs[i]];
      if (seen == state->serial) {
        return InvalidArgument(
            "vector contains metrics with the same labelset after applying rule labels");
      }
      seen = state->serial;
    }
    if (state->element_ids[i] != window::SeriesStore::kUnwanted) {
      state->written.emplace_back(state->element_ids[i], result->values[i]);
    } else if (observer_ != nullptr) {
      observer_->Unread(OutputLabels(*state->rule, *result, i), at.position, result->values[i]);
    }
  }
  if (state->limit > 0 && elements > state->limit) {
    return ResourceExhausted(
        Cat("exceeded limit of ", state->limit, " with ", elements, " series"));
  }
  std::sort(state->written.begin(), state->written.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  FlushRecorded(state, at.position);
  return OkStatus();
}

void ClockDomain::FlushRecorded(RuleState* state, int64_t position) {
  size_t next = 0;
  for (const window::SeriesId id : state->last_written) {
    while (next < state->written.size() && state->written[next].first < id) ++next;
    // An output that is missing at this tick gets a stale marker.
    if (next == state->written.size() || state->written[next].first != id)
      Record(id, position, StaleMarker());
  }
  if (state->written.empty() && state->last_written.empty()) return;
  state->last_written.clear();
  for (const auto& [id, value] : state->written) {
    // What another rule has recorded otherwise at this tick is that rule's to end.
    if (Record(id, position, value)) state->last_written.push_back(id);
  }
  evaluator_->Changed();
}

bool ClockDomain::Record(window::SeriesId id, int64_t position, double value) {
  const bool taken = store_->Record(id, position, value);
  if (observer_ == nullptr) return taken;
  if (const Labels* labels = store_->LabelsOf(id)) observer_->Recorded(*labels, position, value);
  return taken;
}

void ClockDomain::RecordActive(RuleState* state, int64_t position) {
  state->written.clear();
  const alert::AlertState& alerts = *state->alerts;
  for (size_t i = 0; i < alerts.firing() + alerts.pending(); ++i) {
    const alert::ActiveAlert active = alerts.Active(i);
    for (const auto& [labels, value] :
         {std::pair(active.alerts_series, 1.0),
          std::pair(active.for_state_series, active.active_seconds)}) {
      auto id = store_->Intern(*labels);
      if (id.ok() && *id != window::SeriesStore::kUnwanted) state->written.emplace_back(*id, value);
    }
  }
  std::sort(state->written.begin(), state->written.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  FlushRecorded(state, position);
}

void ClockDomain::EndOrphans(GroupState* group, int64_t position) {
  if (group->orphans.empty()) return;
  for (const window::SeriesId id : group->orphans) {
    // Another group may record it by now.
    bool recorded = false;
    for (const GroupState& other : groups_) {
      for (const auto& state : other.rules) {
        recorded = recorded ||
                   std::binary_search(state->last_written.begin(), state->last_written.end(), id);
      }
    }
    if (!recorded) Record(id, position, StaleMarker());
  }
  group->orphans.clear();
  evaluator_->Changed();
}

void ClockDomain::HandOverRecorded(std::vector<GroupState>* old, const plan::DomainPlan& old_space,
                                   int64_t position) {
  std::vector<window::SeriesId> ended;
  for (size_t g = 0; g < old->size(); ++g) {
    GroupState* group = nullptr;
    for (size_t k = 0; k < groups_.size(); ++k) {
      if (domain().groups[k].name == old_space.groups[g].name) group = &groups_[k];
    }
    std::vector<window::SeriesId>& orphans = group != nullptr ? group->orphans : ended;
    orphans.insert(orphans.end(), (*old)[g].orphans.begin(), (*old)[g].orphans.end());
    // A rule that did not change hands over to itself; of the others the first to the first with
    // the same name and labels.
    std::vector<RuleState*> heirs, givers;
    for (const auto& state : (*old)[g].rules) givers.push_back(state.get());
    for (size_t k = 0; group != nullptr && k < group->rules.size(); ++k)
      heirs.push_back(group->rules[k].get());
    for (const auto key_of : {Unchanged, RecordedAs}) {
      std::multimap<std::string, RuleState*> by_key;  // equal keys stay in the order of the rules
      for (RuleState* heir : heirs) by_key.emplace(key_of(*heir->rule), heir);
      std::set<const RuleState*> done;
      std::erase_if(givers, [&](RuleState* giver) {
        const std::string key = key_of(*giver->rule);
        const auto heir = by_key.lower_bound(key);
        if (heir == by_key.end() || heir->first != key) return false;
        heir->second->last_written = std::move(giver->last_written);
        done.insert(heir->second);
        by_key.erase(heir);
        return true;
      });
      std::erase_if(heirs, [&](const RuleState* heir) { return done.contains(heir); });
    }
    for (const RuleState* giver : givers)
      orphans.insert(orphans.end(), giver->last_written.begin(), giver->last_written.end());
  }
  // The series of groups that are gone end with them. What the store has no room for ends by the
  // look-back.
  if (!ended.empty()) {
    const Status marked = store_->AppendStale({.position = position + 1}, ended);
    if (!marked.ok()) counters_->Count(Drop::kLimit, ended.size());
  }
}

}  // namespace pitwall::engine
