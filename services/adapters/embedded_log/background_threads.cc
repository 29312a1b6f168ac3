#include "services/adapters/embedded_log/background_threads.h"

#include <utility>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

constexpr int64_t kRetainEveryNs = 60 * kNanosPerSecond;

void Warn(const Status& status) {
  if (!status.ok()) PITWALL_LOG(kWarning, "log", ToStd(status.message()));
}

}  // namespace

BackgroundThreads::BackgroundThreads(Clock* clock)
    : clock_(clock), flusher_(clock, "log-flusher"), keeper_(clock, "log-keeper") {}

CommitWriter::Wake BackgroundThreads::wake() {
  return {[this] { flusher_.Wake(); }, [this] { keeper_.Wake(); }};
}

void BackgroundThreads::Start(CommitWriter* writer, Maintenance* maintenance,
                              int64_t flush_interval_ns,
                              std::vector<std::function<Status()>> checks) {
  writer_ = writer;
  maintenance_ = maintenance;
  flush_interval_ns_ = flush_interval_ns;
  checks_ = std::move(checks);
  if (flush_interval_ns > 0) flusher_.Start([this] { Flush(); });
  keeper_.Start([this] { Keep(); });
}

void BackgroundThreads::Stop() {
  keeper_.RequestStop();
  flusher_.Stop();
  keeper_.Stop();
}

void BackgroundThreads::Flush() {
  while (flusher_.Wait(-1)) {
    // The first commit after a flush starts the interval. Later commits within the interval share
    // the flush.
    flusher_.Wait(flush_interval_ns_);
    if (writer_->dirty()) Warn(writer_->Sync(/*durable_mark=*/false));
  }
}

void BackgroundThreads::VerifyRest() {
  for (; !checks_.empty() && !keeper_.stopping(); checks_.pop_back()) {
    const Status verified = checks_.back()();
    // NotFound means that retention or compaction deleted the segment.
    if (verified.code() != absl::StatusCode::kNotFound) Warn(verified);
  }
}

void BackgroundThreads::Keep() {
  // Retention also runs periodically, because no segment is ever closed in an idle log or on a full
  // disk.
  int64_t retain_at_ns = clock_->MonotonicNs();
  while (!keeper_.stopping()) {
    const int64_t left_ns = retain_at_ns - clock_->MonotonicNs();
    if (left_ns > 0) keeper_.Wait(left_ns);
    if (keeper_.stopping()) return;
    if (writer_->CheckpointDue()) Warn(writer_->Checkpoint());
    if (writer_->TakeRolled()) {
      Warn(maintenance_->RetainAndCompact());
    } else if (clock_->MonotonicNs() >= retain_at_ns) {
      Warn(maintenance_->Retain());
    } else {
      continue;
    }
    retain_at_ns = clock_->MonotonicNs() + kRetainEveryNs;
    VerifyRest();
  }
}

}  // namespace pitwall::log
