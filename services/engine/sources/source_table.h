// The sources of one job, in the order of what they promise, and what they hold in memory.
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

// Two groups of a source's fields decide the watermarks, and change only through this class:
//  * promise, live, pending, waiting: in Change or a function below,
//  * steps, step_live: in ChangeSteps or a function below.
// Not thread-safe.
class SourceTable {
 public:
  // Both are borrowed.
  SourceTable(const EngineOptions& options, LimitReport* limits);

  const SourceMap& all() const { return sources_; }
  // Null: there is none.
  Source* Find(const std::string& id, const std::string& boot) const;
  struct Added {
    Source* source = nullptr;  // null: the job has too many sources, which was counted
    bool fresh = false;
  };
  Added FindOrAdd(const Batch& batch);
  // Other boots of the source's ID or rank, ordered by (ID, boot).
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
  // Another source reports that a rank was lost: it holds the watermark no longer. False: the job
  // has no such rank, or the reporter is of another node and cannot know.
  bool ReportLoss(const Source& reporter, const RankLost& lost);
  // The boot or attempt of the source ended at `at`: it holds no step clock, and the watermark only
  // up to there.
  void End(Source* source, int64_t at);
  // Sources that were silent for as long as a job may be, and ended boots beyond the newest few of
  // one source. They are to be removed.
  std::vector<Source*> Expired() const;
  void Remove(Source* source);
  void Clear();

  const WatermarkIndex& order() const { return order_; }
  // For what waits of the sources; what the sources themselves take is counted here.
  PendingBytes* pending() { return &memory_; }
  const PendingBytes& memory() const { return memory_; }
  // Number of sources that hold the watermark.
  size_t CountLive() const;

  void Save(BinaryWriter& out) const;
  // `format`: of the snapshot (shard.h).
  Status Restore(BinaryReader& in, uint32_t format);

 private:
  void CountRestored(const Source& source);

  const EngineOptions& options_;
  LimitReport* const limits_;
  SourceMap sources_;
  PendingBytes memory_;
  // Both follow from sources_.
  WatermarkIndex order_;
  RankBoots rank_boots_;
};

}  // namespace pitwall::engine
