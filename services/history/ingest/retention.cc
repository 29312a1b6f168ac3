#include "services/history/ingest/retention.h"

#include <algorithm>
#include <tuple>

#include "services/base/duration.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

constexpr int64_t kPassNs = 10 * kNanosPerSecond;
// Interval at which the accepted time is saved. It is well below AgeClock::kStepNs, so a short
// downtime does not suspend retention by age.
constexpr int64_t kSaveNs = 600 * kNanosPerSecond;

struct Candidate {
  StoredJobPtr job;
  int64_t last_ns = 0;
  bool ended = false;
};

// Returns the jobs sorted by the time of their last data, oldest first.
std::vector<Candidate> OldestFirst(const HistoryStore& store, const Retention::IngestOf& ingest) {
  std::vector<Candidate> out;
  for (const StoredJobPtr& job : store.All()) {
    // If another process owns the job, the job receives no more data here.
    const bool left = !ingest(job)->Owns(*job);
    MutexLock lock(&job->mutex());
    const JobLifePtr life = job->SharedLife();
    out.push_back({job, std::max(life->last_ns, life->ended_ns), life->ended_ns != 0 || left});
  }
  std::sort(out.begin(), out.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.last_ns, a.job->id()) < std::tie(b.last_ns, b.job->id());
  });
  return out;
}

// Returns the windows that have raw samples, oldest first.
std::vector<int64_t> RawWindows(const StoredJob& job) {
  MutexLock lock(&job.mutex());
  std::vector<int64_t> out;
  for (const auto& [start, window] : job.windows()) {
    if (window.sealed.has_value() && window.sealed->has_rows && window.head == nullptr)
      out.push_back(start);
  }
  return out;
}

}  // namespace

uint64_t DiskBytes(const HistoryStore& store) {
  uint64_t bytes = 0;
  for (const StoredJobPtr& job : store.All()) {
    MutexLock lock(&job->mutex());
    bytes += job->disk_bytes();
  }
  for (const std::string_view end : {"", "-wal"}) {
    const auto file =
        files::File::Open(Cat(store.dir(), "/catalogue.db", end), files::File::Mode::kRead);
    if (!file.ok()) continue;
    const auto size = (*file)->Size();
    if (size.ok()) bytes += static_cast<uint64_t>(*size);
  }
  return bytes;
}

Retention::Retention(Clock* clock, HistoryStore* store, const HistoryOptions* options,
                     IngestOf ingest_of)
    : clock_(clock),
      store_(store),
      options_(*options),
      ingest_of_(std::move(ingest_of)),
      worker_(clock, "retention") {}

void Retention::Start() {
  worker_.Start([this] {
    while (worker_.Wait(kPassNs)) worker_.SetHealth(Enforce());
  });
}

StatusOr<std::optional<int64_t>> Retention::AcceptedTime() {
  MutexLock lock(&pass_mutex_);
  const int64_t wall_ns = clock_->WallNs();
  if (!saved_ns_.has_value()) {
    std::optional<int64_t> saved_ns;  // the lock analysis does not follow lambdas
    RETURN_IF_ERROR(store_->database().ForEachOf(kMetaRow, "", [&](store::DatabaseRow row) {
      if (row.key != kAgeKey) return OkStatus();
      ASSIGN_OR_RETURN(saved_ns, DecodeTime(row.body));
      return OkStatus();
    }));
    saved_ns_ = saved_ns;
    // Any time can be accepted if the store has no jobs.
    if (saved_ns_.has_value() || store_->All().empty())
      age_clock_.Restore(saved_ns_.value_or(wall_ns));
  }
  const auto accepted = age_clock_.Advance(wall_ns, clock_->MonotonicNs());
  if (const bool now = age_clock_.suspended(); now != suspended_.exchange(now)) {
    PITWALL_LOG(kWarning, "insights",
                now ? "retention by age is suspended: the wall clock is more than an hour ahead of "
                      "the monotonic clock; the new time is accepted after a day"
                    : "retention by age has resumed");
  }
  if (!accepted.has_value()) return accepted;
  if (saved_ns_.has_value() && *accepted >= *saved_ns_ && *accepted - *saved_ns_ < kSaveNs)
    return accepted;
  store::DatabaseChange change;
  change.put.push_back({kMetaRow, "", kAgeKey, EncodeTime(*accepted)});
  RETURN_IF_ERROR(store_->database().Apply(change));
  saved_ns_ = accepted;
  return accepted;
}

Status Retention::EnforceTime() {
  ASSIGN_OR_RETURN(const std::optional<int64_t> accepted_ns, AcceptedTime());
  if (!accepted_ns.has_value()) return OkStatus();
  const std::vector<Candidate> all = OldestFirst(*store_, ingest_of_);
  // The job with the newest data is last in the list.
  const int64_t now_ns = all.empty() ? 0 : std::min(*accepted_ns, all.back().last_ns);
  for (const Candidate& c : all) {
    if (!c.ended || c.last_ns == 0 || now_ns - c.last_ns <= options_.retention_ns) continue;
    PartitionIngest* ingest = ingest_of_(c.job);
    RETURN_IF_ERROR(ingest->Do([&] { return ingest->DeleteJob(c.job); }));
    PITWALL_LOG(kInfo, "insights", "job ", Quote(c.job->id()), ": removed; its last sample is ",
                FormatDuration((now_ns - c.last_ns) / kNanosPerSecond * kNanosPerSecond),
                " older than the newest sample of any job (insights.retention)");
  }
  return OkStatus();
}

Status Retention::EnforceBytes() {
  const auto over = [&] { return DiskBytes(*store_) > static_cast<uint64_t>(options_.max_bytes); };
  if (!over()) return OkStatus();
  const std::vector<Candidate> all = OldestFirst(*store_, ingest_of_);
  const auto drop_raw = [&](const Candidate& c) -> Status {
    if (!over()) return OkStatus();
    ASSIGN_OR_RETURN(const StoredJobPtr job, store_->Find(c.job->id()));
    if (job == nullptr) return OkStatus();
    for (const int64_t start : RawWindows(*job)) {
      if (worker_.stopping() || !over()) return OkStatus();
      PartitionIngest* ingest = ingest_of_(job);
      const Status walked = ingest->Do([&]() -> Status {
        const auto at = job->windows().find(start);
        if (at == job->windows().end() || at->second.head != nullptr) return OkStatus();
        RETURN_IF_ERROR(ingest->DropRaw(job, start));
        return store_->Settle();
      });
      RETURN_IF_ERROR(walked);
    }
    return OkStatus();
  };
  for (const Candidate& c : all) {
    if (c.ended) RETURN_IF_ERROR(drop_raw(c));
  }
  for (const Candidate& c : all) {
    if (!c.ended || !over()) continue;
    PartitionIngest* ingest = ingest_of_(c.job);
    RETURN_IF_ERROR(ingest->Do([&] { return ingest->DeleteJob(c.job); }));
    PITWALL_LOG(kInfo, "insights", "job ", Quote(c.job->id()),
                ": removed; the history exceeds insights.max_bytes");
  }
  for (const Candidate& c : all) {
    if (!c.ended) RETURN_IF_ERROR(drop_raw(c));
  }
  if (!over()) return OkStatus();
  return ResourceExhausted(Cat(store_->dir(), ": stores ", DiskBytes(*store_),
                               " bytes, and nothing more can be removed; raise "
                               "insights.max_bytes (currently ",
                               options_.max_bytes, ")"));
}

Status Retention::Enforce() {
  RETURN_IF_ERROR(EnforceTime());
  return EnforceBytes();
}

}  // namespace pitwall::history
