// Sources of one job: the facts about each boot, and the boots that changed since the last save.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "services/adapters/store/database.h"
#include "services/history/job_overview.h"
#include "services/history/store/catalogue.h"
#include "services/history/store/job_windows.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

// Cached pointers to the state of one boot. Each batch needs them, and a lookup would compare
// long names with common prefixes.
class SourceState {
 public:
  SourceState(const OriginKey* key, SourceMeta* boot) : key_(*key), boot_(*boot) {}

  const OriginKey& key() const { return key_; }
  const OriginPtr& origin() const { return boot_.origin; }
  SeenCursor* seen() { return &seen_; }
  // Extend the time ranges of the boot's samples and steps.
  void NoteSamples(int64_t first_ns, int64_t last_ns) {
    boot_.first_ns = std::min(boot_.first_ns, first_ns);
    boot_.last_ns = std::max(boot_.last_ns, last_ns);
  }
  void NoteStepStart(int64_t time_ns) {
    boot_.first_step_ns = std::min(boot_.first_step_ns, time_ns);
  }
  void NoteStepEnd(int64_t time_ns) { boot_.last_step_ns = std::max(boot_.last_step_ns, time_ns); }

 private:
  friend class JobSources;

  const OriginKey& key_;
  SourceMeta& boot_;
  bool dirty_ = false;
  SeenCursor seen_;
};

// Sources of one job. The threading rules of StoredJob apply.
class JobSources {
 public:
  // Restores a boot from the catalog.
  void Restore(SourceMeta boot);
  // Adds a boot found in a segment, or extends its time range if it is already known. Returns the
  // boot.
  const SourceMeta& RestoreSeen(const SourceMeta& boot);

  // Updates the sending boot from the batch's description. Adds the boot if it is unknown. The
  // result is valid until the sources are freed.
  SourceState* Describe(const Batch& batch);

  // Returns whether boots have changed since the last call to MarkSaved.
  bool dirty() const { return !dirty_.empty(); }
  void Collect(const std::string& job, store::DatabaseChange* change) const;
  void MarkSaved();

  // Sets the sources, and the names and times derived from them.
  void FillSources(JobOverview* life) const;
  // Extends the time ranges of the attempts' steps.
  void FillSteps(JobOverview* life) const;

 private:
  struct ByNames {
    using is_transparent = void;
    using Names = std::pair<std::string_view, std::string_view>;
    bool operator()(const Names& a, const Names& b) const { return a == b; }
    size_t operator()(const Names& names) const { return absl::Hash<Names>()(names); }
  };

  SourceState* StateOf(const Batch& batch);

  std::map<OriginKey, SourceMeta> boots_;
  // Caches for the boots in boots_.
  absl::flat_hash_map<OriginKey, std::unique_ptr<SourceState>, ByNames, ByNames> states_;
  std::vector<SourceState*> dirty_;
};

}  // namespace pitwall::history
