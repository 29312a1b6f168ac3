// State of one job: its sources, its windows (sealed, in memory, or both), and the records not yet
// saved to the catalog.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "services/base/mutex.h"
#include "services/history/job_overview.h"
#include "services/history/store/catalogue.h"
#include "services/history/store/job_event_fold.h"
#include "services/history/store/job_telemetry.h"

namespace pitwall::history {

// Only the thread of the job's partition modifies the job, while holding the mutex; that thread
// reads without locking. Other threads read while holding the mutex.
//
// An unused job is unloaded: its overview stays in memory, while its sources, schemas, and windows
// are only in the catalog. HistoryStore loads the job again before use, from any thread. An
// unloaded job has no windows, so only SharedLife, disk_bytes, IsOver, and the telemetry's
// newest_ns are valid.
class StoredJob {
 public:
  // `number` is unique within the store, even if the job is stored again after its deletion.
  StoredJob(std::string id, uint64_t number) : id_(std::move(id)), number_(number) {}
  StoredJob(const StoredJob&) = delete;
  StoredJob& operator=(const StoredJob&) = delete;

  const std::string& id() const { return id_; }
  uint64_t number() const { return number_; }
  Mutex& mutex() const { return mutex_; }

  void Ingest(const Batch& batch, const RecordPlace& at, IngestCounts* counts) {
    used_ = true;
    telemetry_.Ingest(batch, at, counts);
  }
  void OnEvent(const IssueEvent& event) {
    used_ = true;
    story_.OnEvent(event);
  }
  void AddRecord(KeptRecord record) { records_.push_back(std::move(record)); }

  JobTelemetry& telemetry() { return telemetry_; }
  const JobTelemetry& telemetry() const { return telemetry_; }
  const std::map<int64_t, WindowEntry>& windows() const { return telemetry_.windows().by_start(); }
  const std::deque<KeptRecord>& records() const { return records_; }

  // Collects the unsaved changes for a transaction. Collected marks these changes, including the
  // first `records` records, as saved.
  bool dirty() const { return !records_.empty() || telemetry_.dirty(); }
  void Collect(store::DatabaseChange* change) const;
  void Collected(size_t records);

  // Returns whether the window is expected to receive few more rows. `behind` means that much
  // telemetry is still unread. In that case, the job's progress is used instead of its end, because
  // the end is read long before the telemetry.
  bool IsOver(int64_t window_ns, int64_t grace_ns, bool behind) const {
    const int64_t newest_ns = telemetry_.newest_ns();
    return newest_ns - (window_ns + kWindowNs) > grace_ns ||
           (story_.ended() && (!behind || newest_ns >= story_.ended_ns()));
  }
  JobLifePtr SharedLife() const;
  uint64_t disk_bytes() const;  // size of the job's segments

  // The following members require the mutex.
  bool loaded() const { return summary_ == nullptr; }
  // Unloads the job. Returns false if the job is in use, has been used since the last call, or has
  // unsaved data.
  bool Unload();
  // Finishes loading. `loaded` is OK if all data in the catalog was restored; otherwise, the job
  // stays unloaded.
  void EndLoad(const Status& loaded);
  // Returns a pointer that keeps the job loaded. Releasing the pointer does not require the mutex.
  static std::shared_ptr<StoredJob> Pin(std::shared_ptr<StoredJob> job);

 private:
  struct Summary {
    JobLifePtr life;
    uint64_t disk_bytes = 0;
  };

  const std::string id_;
  const uint64_t number_;
  mutable Mutex mutex_;
  JobTelemetry telemetry_;
  JobEventFold story_;
  std::deque<KeptRecord> records_;          // events that are not saved yet
  std::unique_ptr<const Summary> summary_;  // set while the job is unloaded
  std::atomic<size_t> pins_{0};
  bool used_ = true;  // since the last call to Unload
};

}  // namespace pitwall::history
