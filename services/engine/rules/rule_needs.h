// Metrics that one rule needs, and whether each is present. Private to the engine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/model/windows/demand.h"

namespace pitwall::engine {

// Not thread-safe.
class RuleNeeds {
 public:
  // Borrows `rule`. `on_steps` marks a rule on a step clock.
  RuleNeeds(const plan::Rule& rule, bool on_steps)
      : rule_(&rule), on_steps_(on_steps), met_(rule.needs.size(), 0) {}

  static std::vector<std::string> Names(const plan::Rule& rule) {
    std::vector<std::string> names;
    for (const plan::Need& need : rule.needs) names.push_back(need.metric);
    return names;
  }

  // Handles a tick for the rule. On a step clock, a need becomes absent only after Judge has run.
  void Read(ColumnView* windows) {
    for (size_t i = 0; i < met_.size(); ++i) {
      const Column column = windows->Read(rule_->needs[i].demand);
      const bool met =
          std::find(column.present.begin(), column.present.end(), 1) != column.present.end();
      if (met || !on_steps_ || !judged_) met_[i] = met ? 1 : 0;
    }
  }
  // Updates the needs of a step rule at a time-clock update. Returns whether all needs are present.
  bool Judge(const std::function<bool(std::string_view)>& is_present) {
    judged_ = true;
    bool all = true;
    for (size_t i = 0; i < met_.size(); ++i) {
      met_[i] = is_present(rule_->needs[i].metric) ? 1 : 0;
      all &= met_[i] == 1;
    }
    return all;
  }

  // Presence of each need, parallel to the needs of the rule.
  const std::vector<uint8_t>& met() const { return met_; }
  bool AllMet() const { return std::find(met_.begin(), met_.end(), 0) == met_.end(); }

  // Takes over the state of the same rule in another program if both have the same needs.
  void Inherit(RuleNeeds* from) {
    if (Names(*rule_) != Names(*from->rule_)) return;
    met_ = std::move(from->met_);
    judged_ = from->judged_;
  }

  void Save(BinaryWriter& out) const {
    out.Bytes(met_);
    out.Bool(judged_);
  }
  void Restore(BinaryReader& in) {
    met_ = in.Bytes();
    if (met_.size() != rule_->needs.size()) in.Fail();
    judged_ = in.Bool();
  }

 private:
  const plan::Rule* rule_;
  bool on_steps_;
  std::vector<uint8_t> met_;
  bool judged_ = false;
};

}  // namespace pitwall::engine
