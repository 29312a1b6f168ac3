// Window sealing: writes a window's rows to a segment and frees their memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/history/flush/flush_input.h"
#include "services/history/flush/segment_writer.h"
#include "services/history/ingest/partition/catalog_saver.h"
#include "services/history/ingest/partition/ingest_control.h"
#include "services/history/store/history_store.h"

namespace pitwall::history {

// Sealer for the windows of a partition's jobs. Only the partition's thread may use it. Does not
// own its dependencies.
class WindowSealer {
 public:
  WindowSealer(Clock* clock, HistoryStore* store, CatalogSaver* saver, IngestControl* control)
      : clock_(clock), store_(store), saver_(saver), control_(control) {}

  // Returns the starts of the windows with rows in memory.
  static std::vector<int64_t> Heads(const StoredJob& job);
  // Seals the window. If the disk is full, drops its raw samples and keeps the rest.
  Status SealWindow(const StoredJobPtr& job, int64_t window_ns);
  // Seals all unsealed rows of the job.
  Status SealJob(const StoredJobPtr& job);
  // Drops the raw samples of a sealed window and keeps its rollups.
  Status DropRaw(const StoredJobPtr& job, int64_t window_ns);
  // Forgets the encoding hints of a job that was unloaded or deleted.
  void ForgetHints(const std::string& job) { hints_.erase(job); }

 private:
  StatusOr<std::unique_ptr<const FlushInput>> Gather(const StoredJob& job, int64_t window_ns) const;
  // Writes a segment without adding it to the catalog. Returns DataLoss if an earlier segment of
  // the window is damaged.
  Status Write(const StoredJob& job, const FlushInput& content, SegmentMeta* facts);
  // Commits the segment to the catalog and frees the window's rows in memory.
  Status Adopt(const StoredJobPtr& job, const FlushInput& content, const SegmentMeta& facts);
  Status SealWithoutRows(const StoredJobPtr& job, const FlushInput& content, int64_t window_ns);
  // Drops the late rows of a window with a damaged segment so that ingestion can continue.
  void GiveUp(const StoredJobPtr& job, int64_t window_ns, const Status& damage);

  Clock* const clock_;
  HistoryStore* const store_;
  CatalogSaver* const saver_;
  IngestControl* const control_;
  std::map<std::string, SegmentHints> hints_;  // by job ID
};

}  // namespace pitwall::history
