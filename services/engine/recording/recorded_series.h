// Series that the rules in one domain write: recorded series, ALERTS, and stale markers where
// series end, as in Prometheus (rules/group.go). Private to the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rules/plan/program/program.h"
#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/engine/recording/rule_output.h"
#include "services/engine/recording/series_writer.h"
#include "services/window/store/series_store.h"

namespace pitwall::engine {

// Not thread-safe.
class RecordedSeries {
 public:
  explicit RecordedSeries(const plan::DomainPlan& domain);

  // Returns the output of a rule. The pointer stays valid for the lifetime of this object, or of
  // the object that it is moved to.
  RuleOutput* OutputOf(size_t group, size_t rule) { return &groups_[group].outputs[rule]; }

  // Writes stale markers for the orphans of the group: series that its rules wrote before a reload
  // and that no current rule writes. Returns false if no such series exists.
  bool EndOrphans(size_t group, Position position, SeriesWriter* writer);

  // Handles a reload. Rules in `domain` inherit the series of rules in `old_domain` with the same
  // group, name, and labels. All other series become orphans of their group. Returns the series
  // whose groups are missing from `domain`.
  std::vector<window::SeriesId> Inherit(RecordedSeries* old, const plan::DomainPlan& old_domain,
                                        const plan::DomainPlan& domain);

  // Removes these series (sorted), which the store has dropped. Their IDs may be reused.
  void Forget(const std::vector<window::SeriesId>& ids);
  // Must be called when the store has dropped all samples.
  void Restart();

  void SaveOrphans(size_t group, BinaryWriter& out) const;
  void RestoreOrphans(size_t group, BinaryReader& in);

 private:
  struct Group {
    std::vector<RuleOutput> outputs;  // By rule.
    std::vector<window::SeriesId> orphans;
  };

  std::vector<Group> groups_;
};

}  // namespace pitwall::engine
