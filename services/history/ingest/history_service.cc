#include "services/history/ingest/history_service.h"

#include <algorithm>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/history/ingest/archive.h"

namespace pitwall::history {

HistoryService::HistoryService(Clock* clock, Log* log, HistoryOptions options,
                               self_metrics::Exposition* exposition)
    : clock_(clock), log_(log), options_(std::move(options)), probe_(exposition) {}

HistoryService::~HistoryService() { Stop(); }

StatusOr<std::unique_ptr<HistoryService>> HistoryService::Open(
    Clock* clock, Log* log, HistoryOptions options, self_metrics::Exposition* exposition) {
  std::unique_ptr<HistoryService> out(
      new HistoryService(clock, log, std::move(options), exposition));
  // Positions from an earlier process are lower than the first position of this process, so the
  // changes since then count as dropped.
  const auto first_place = static_cast<uint64_t>(std::max<int64_t>(clock->WallNs(), 0)) / 1000;
  ASSIGN_OR_RETURN(out->store_,
                   HistoryStore::Open(out->options_.dir, false, first_place, out->options_.faults,
                                      out->options_.cache_bytes()));
  out->reader_ = std::make_unique<SegmentQuery>(out->store_.get());
  return out;
}

Status HistoryService::Start() {
  if (!ingests_.empty()) return FailedPrecondition("the history is already running");
  ASSIGN_OR_RETURN(const int32_t partitions, log_->Partitions(options_.topics.telemetry));
  for (int32_t p = options_.share_index; p < partitions; p += options_.share_count) {
    ingests_.push_back(
        std::make_unique<PartitionIngest>(clock_, log_, store_.get(), &options_, p, partitions));
  }
  if (ingests_.empty()) {
    return InvalidArgument(
        Cat("share ", options_.share_index, "/", options_.share_count, ": ",
            options_.topics.telemetry, " has ", partitions,
            " partitions, so this process owns no partition; run fewer processes"));
  }
  partitions_ = partitions;
  retention_ = std::make_unique<Retention>(
      clock_, store_.get(), &options_, [this](const StoredJobPtr& job) { return IngestOf(job); });
  RETURN_IF_ERROR(retention_->Begin());
  for (const auto& ingest : ingests_) ingest->Start();
  retention_->Start();
  AddMetrics();
  return OkStatus();
}

void HistoryService::Stop() {
  // Retention uses the partitions' threads, so it must stop first.
  if (retention_ != nullptr) retention_->Stop();
  // All partitions stop reading before any partition seals.
  for (const auto& ingest : ingests_) ingest->RequestStop();
  for (const auto& ingest : ingests_) ingest->Stop();
}

PartitionIngest* HistoryService::IngestOf(const StoredJobPtr& job) const {
  // Jobs that another process owns are also assigned to a fixed thread.
  const auto partition = static_cast<size_t>(PartitionOf(job->id(), partitions_));
  const size_t index = partition / static_cast<size_t>(options_.share_count);
  return ingests_[index % ingests_.size()].get();
}

Status HistoryService::Health() const {
  for (const auto& ingest : ingests_) RETURN_IF_ERROR(ingest->Health());
  RETURN_IF_ERROR(store_->segments().Damage());
  return retention_ == nullptr ? OkStatus() : retention_->Health();
}

Status HistoryService::Ready() const {
  for (const auto& ingest : ingests_) {
    if (!ingest->caught_up()) return Unavailable("insights: still reading the existing log");
  }
  return ingests_.empty() ? Unavailable("insights: not started") : OkStatus();
}

Status HistoryService::EnforceBounds() {
  return retention_ == nullptr ? Unavailable("the history is not running") : retention_->Enforce();
}

uint64_t HistoryService::disk_bytes() const { return DiskBytes(*store_); }

void HistoryService::AddMetrics() {
  using self_metrics::Sample;
  StoreCounters& c = store_->counters();
  const auto counter = [&](std::string_view name, std::string_view help,
                           const std::atomic<uint64_t>* value) {
    probe_.AddCounter(name, help, [value] { return value->load(); });
  };
  counter("pitwall_insights_records_total", "Records of pitwall.telemetry read.", &c.records);
  counter("pitwall_insights_samples_total", "Samples stored.", &c.samples);
  counter("pitwall_insights_events_total",
          "Issues, statuses, actions, captures, and notifications stored.", &c.events);
  counter("pitwall_insights_duplicates_total", "Batches that were already stored.", &c.duplicates);
  counter("pitwall_insights_refused_ahead_total",
          "Rows and spans dropped because they were more than a minute ahead of their record's "
          "append time.",
          &c.ahead);
  counter("pitwall_insights_unread_frames_total",
          "Frames dropped because their schema was missing or did not match.", &c.unread);
  counter("pitwall_insights_after_raw_total",
          "Batches that arrived after the raw samples of their window were dropped.", &c.after_raw);
  counter("pitwall_insights_undecodable_total", "Records that could not be decoded.",
          &c.undecodable);
  counter("pitwall_insights_input_losses_total",
          "Parts of the log that were deleted before they were read.", &c.input_losses);
  counter("pitwall_insights_sealed_segments_total", "Segments written.", &c.sealed);
  counter("pitwall_insights_dropped_raw_total",
          "Windows whose raw samples were dropped for lack of disk space; their rollups are kept.",
          &c.dropped_raw);
  counter("pitwall_insights_removed_jobs_total", "Jobs deleted, by request or by retention.",
          &c.removed_jobs);
  counter("pitwall_insights_failed_saves_total", "Catalog transactions that failed.",
          &c.failed_saves);
  const auto at_start = [&](std::string_view name, std::string_view help,
                            const std::atomic<uint64_t>* value) {
    probe_.AddGauge(name, help, [value] { return value->load(); });
  };
  at_start("pitwall_insights_adopted_segments",
           "Segments that the last start added to the catalog.", &c.adopted);
  at_start("pitwall_insights_quarantined_segments",
           "Files that the last start moved to the quarantine folder.", &c.quarantined);
  at_start("pitwall_insights_missing_segments",
           "Segments in the catalog that were missing or truncated at the last start.", &c.missing);
  probe_.AddGauge("pitwall_insights_retention_suspended",
                  "1 while retention by age is suspended after a jump of the wall clock.",
                  [this] { return retention_->suspended() ? 1 : 0; });
  probe_.AddGauge("pitwall_insights_bytes", "Bytes on disk.", [this] { return disk_bytes(); });
  probe_.AddGauge("pitwall_insights_head_bytes", "Bytes of rows that exist only in memory.",
                  [this] {
                    size_t bytes = 0;
                    for (const auto& ingest : ingests_) bytes += ingest->head_bytes();
                    return bytes;
                  });
  probe_.AddGauge("pitwall_insights_jobs", "Jobs stored.", [this] { return store_->All().size(); });
  probe_.AddGauge(
      "pitwall_insights_jobs_in_memory",
      "Jobs whose sources, schemas, and windows are in memory. For other jobs, only the overview "
      "is in memory.",
      [this] {
        const std::vector<StoredJobPtr> jobs = store_->All();
        return std::count_if(jobs.begin(), jobs.end(), [](const StoredJobPtr& job) {
          MutexLock lock(&job->mutex());
          return job->loaded();
        });
      });
  probe_.ListGauges("pitwall_insights_lag_records", "Telemetry records not read yet.",
                    [this](std::vector<Sample>* out) {
                      for (size_t p = 0; p < ingests_.size(); ++p)
                        out->push_back({Labels({{"partition", Cat(p)}}),
                                        static_cast<double>(ingests_[p]->lag())});
                    });
}

StatusOr<StoredJobPtr> HistoryService::Finished(std::string_view wanted) const {
  if (ingests_.empty()) return Unavailable("the history is not running");
  ASSIGN_OR_RETURN(const JobLifePtr life, reader_->FindJob(wanted));
  ASSIGN_OR_RETURN(StoredJobPtr job, store_->Find(life->id));
  if (life->ended_ns == 0 && job != nullptr && IngestOf(job)->Owns(*job)) {
    return FailedPrecondition(
        Cat("job ", Quote(life->id), ": still running; stop it or wait until it ends"));
  }
  if (job == nullptr)
    return NotFound(Cat("job ", Quote(wanted), ": was removed during the request"));
  return job;
}

Status HistoryService::DeleteJob(std::string_view wanted) {
  ASSIGN_OR_RETURN(const StoredJobPtr job, Finished(wanted));
  PartitionIngest* ingest = IngestOf(job);
  return ingest->Do([&] { return ingest->DeleteJob(job); });
}

Status HistoryService::ArchiveJob(std::string_view wanted, const std::string& folder) {
  ASSIGN_OR_RETURN(const StoredJobPtr job, Finished(wanted));
  PartitionIngest* ingest = IngestOf(job);
  return ingest->Do([&]() -> Status {
    RETURN_IF_ERROR(ingest->SealJob(job));
    return WriteArchive(*store_, *job, folder);
  });
}

}  // namespace pitwall::history
