// Sources of one job, ordered by promise, and their memory use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "services/engine/program/limit_report.h"
#include "services/engine/program/limits.h"
#include "services/engine/sources/pending_bytes.h"
#include "services/engine/sources/rank_boots.h"
#include "services/engine/sources/source.h"
#include "services/engine/sources/watermark_index.h"

namespace pitwall::engine {

// The following fields of a source determine the watermarks and must be changed only through this
// class:
//  * promise, live, pending, waiting: through Change or a function below,
//  * steps, step_live: through ChangeSteps or a function below.
// Not thread-safe.
class SourceTable {
 public:
  // Both pointers are borrowed.
  SourceTable(const EngineOptions& options, LimitReport* limits);

  const SourceMap& all() const { return sources_; }
  // Returns null if there is no such source.
  Source* Find(const std::string& id, const std::string& boot) const;
  struct Added {
    Source* source = nullptr;  // null if the job exceeds a limit; the drop is counted
    bool fresh = false;
  };
  Added FindOrAdd(const Batch& batch);
  // Returns the other boots of the source's ID or rank, ordered by (ID, boot).
  std::vector<Source*> OthersOf(const Source& source) const {
    return rank_boots_.OthersOf(source, sources_);
  }

  template <typename F>
  void Change(Source* source, F change) {
    change(source);
    order_.Update(source);
  }
  template <typename F>
  void ChangeSteps(Source* source, F change) {
    change(source);
    order_.UpdateSteps(source);
  }
  // Handles a report from another source that a rank was lost. The rank no longer holds back the
  // watermark. Returns false if the job has no such rank, or if the reporter is on a different node
  // and cannot observe the rank.
  bool ReportLoss(const Source& reporter, const RankLost& lost);
  // Ends the boot or attempt of the source at `at`. The source no longer holds back step clocks,
  // and holds back the watermark only up to `at`.
  void End(Source* source, EventTime at);
  // Returns the sources to remove: those silent for longer than ends.silence, and all but the
  // newest few ended boots of each source.
  std::vector<Source*> Expired() const;
  void Remove(Source* source);
  void Clear();

  const WatermarkIndex& order() const { return order_; }
  // Size of the job's waiting data in bytes. Callers account for their own data, and this class for
  // the sources.
  PendingBytes* pending() { return &memory_; }
  const PendingBytes& memory() const { return memory_; }
  // Number of sources that hold back the watermark.
  size_t CountLive() const;

  void Save(BinaryWriter& out) const;
  // `format` is the snapshot's format (shard.h).
  Status Restore(BinaryReader& in, uint32_t format);

 private:
  void CountRestored(const Source& source);

  const EngineOptions& options_;
  LimitReport* const limits_;
  SourceMap sources_;
  PendingBytes memory_;
  // Both indexes are derived from sources_.
  WatermarkIndex order_;
  RankBoots rank_boots_;
};

}  // namespace pitwall::engine
