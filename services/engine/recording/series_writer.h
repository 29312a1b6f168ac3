// Writer for recorded series in the domain's store. Reports each sample to the domain's observer.
// Private to the engine.
#pragma once

#include <cstdint>

#include "services/base/status.h"
#include "services/base/time.h"
#include "services/engine/recording/rule_observer.h"
#include "services/model/labels.h"
#include "services/window/store/series_store.h"
#include "services/window/store/series_table.h"

namespace pitwall::engine {

// Valid for one tick. Not thread-safe.
class SeriesWriter {
 public:
  // Both pointers are borrowed. `observer` may be null.
  SeriesWriter(window::SeriesStore* store, RuleObserver* observer)
      : store_(store), observer_(observer) {}

  StatusOr<window::SeriesId> Intern(const Labels& labels) { return store_->Intern(labels); }

  // Returns false and keeps the existing sample if the series already has one at the position.
  bool Write(window::SeriesId id, Position position, double value) {
    const bool taken = store_->Record(id, position, value);
    if (observer_ == nullptr) return taken;
    if (const Labels* labels = store_->series().LabelsOf(id))
      observer_->Recorded(*labels, position, value);
    return taken;
  }

  bool observed() const { return observer_ != nullptr; }
  // Reports a sample that no selector reads. Requires observed().
  void ReportUnread(const Labels& labels, Position position, double value) {
    observer_->Unread(labels, position, value);
  }

 private:
  window::SeriesStore* const store_;
  RuleObserver* const observer_;
};

}  // namespace pitwall::engine
