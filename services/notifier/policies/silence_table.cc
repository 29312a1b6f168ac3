#include "services/notifier/policies/silence_table.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"
#include "services/io/partition_scan.h"

namespace pitwall::notifier {
namespace {

constexpr size_t kBatch = 256;
constexpr size_t kBatchBytes = size_t{1} << 20;

}  // namespace

SilenceTable::SilenceTable(Clock* clock, Log* log, std::string topic)
    : clock_(clock), log_(log), topic_(std::move(topic)) {
  const MutexLock lock(&mutex_);
  age_clock_.Advance(clock_->WallNs(), clock_->MonotonicNs());  // starts the retention period
}

Status SilenceTable::Open() {
  RETURN_IF_ERROR(log_->EnsureTopic(topic_, {.partitions = 1, .compacted = true}));
  ASSIGN_OR_RETURN(PartitionScan scan, PartitionScan::Open(log_, {topic_, 0}, kFromStart,
                                                           {.poll_timeout = Duration::Millis(100),
                                                            .max_silent_polls = 50}));
  while (true) {
    ASSIGN_OR_RETURN(const Record* const record, scan.Next());
    if (record == nullptr) break;
    Take(*record);
  }
  reader_ = scan.ReleaseReader();
  return OkStatus();
}

Status SilenceTable::ReadNew() {
  if (reader_ == nullptr) return Open();
  std::vector<Record> records;
  const Status polled = reader_->Poll(kBatch, kBatchBytes, Duration::Zero(), &records);
  if (!polled.ok() && !absl::IsDataLoss(polled)) return polled;
  if (records.empty()) {
    // A recreated topic is read from its first record.
    ASSIGN_OR_RETURN(const int64_t end, reader_->EndOffset());
    if (end < reader_->position()) return reader_->Seek(kFromStart);
    return OkStatus();
  }
  for (const Record& record : records) Take(record);
  const MutexLock lock(&mutex_);
  for (Wakeup* wakeup : listeners_) wakeup->Wake();
  return OkStatus();
}

void SilenceTable::Take(const Record& record) {
  if (record.tombstone) {
    set_.Remove(record.key);
    return;
  }
  StatusOr<Silence> silence = DecodeSilence(record.value);
  if (silence.ok()) {
    set_.Put(*std::move(silence));
  } else {
    PITWALL_LOG(kWarning, "notifier", topic_, " offset ", record.offset, ": ",
                ToStd(silence.status().message()));
  }
}

StatusOr<Silence> SilenceTable::Add(Silence silence) {
  const int64_t now = clock_->WallNs();
  if (silence.starts_ns == 0) silence.starts_ns = now;
  silence.created_ns = now;
  RETURN_IF_ERROR(CheckSilence(silence));
  if (silence.ends_ns <= now) return InvalidArgument("ends_at: must be in the future");
  if (List(false).size() >= SilenceSet::kMaxSilences)
    return ResourceExhausted(Cat("silences: the limit of ", SilenceSet::kMaxSilences,
                                 " active silences is reached; expire some of them"));
  {
    const MutexLock lock(&mutex_);
    silence.id = StableHashHex(Cat("silence\xff", ::getpid(), "\xff", now, "\xff",
                                   clock_->MonotonicNs(), "\xff", ++made_));
  }
  RETURN_IF_ERROR(ForgetOld());
  RETURN_IF_ERROR(Append(silence));
  return silence;
}

Status SilenceTable::ForgetOld() {
  std::optional<int64_t> now_ns;
  {
    const MutexLock lock(&mutex_);
    now_ns = age_clock_.Advance(clock_->WallNs(), clock_->MonotonicNs());
  }
  if (!now_ns.has_value()) return OkStatus();
  std::vector<OutgoingRecord> tombstones;
  for (const Silence& silence : set_.List()) {
    if (silence.ends_ns + SilenceSet::kKeepNs >= *now_ns) continue;
    tombstones.push_back({.topic = topic_, .partition = 0, .key = silence.id, .tombstone = true});
  }
  if (tombstones.empty()) return OkStatus();
  RETURN_IF_ERROR(Write(tombstones));
  for (const OutgoingRecord& tombstone : tombstones) set_.Remove(tombstone.key);
  return OkStatus();
}

Status SilenceTable::Write(std::vector<OutgoingRecord> records) {
  const MutexLock lock(&mutex_);
  if (appender_ == nullptr) {
    ASSIGN_OR_RETURN(appender_, log_->OpenAppender());
  }
  return appender_->Append(std::move(records));
}

StatusOr<Silence> SilenceTable::Expire(std::string_view id) {
  const int64_t now = clock_->WallNs();
  std::vector<Silence> all = set_.List();
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Silence& s) { return s.id == id; });
  if (at == all.end()) return NotFound(Cat("silence ", Quote(id), ": not found"));
  if (at->ends_ns <= now) return FailedPrecondition(Cat("silence ", id, " has already ended"));
  at->ends_ns = now;
  at->starts_ns = std::min(at->starts_ns, now - 1);
  RETURN_IF_ERROR(Append(*at));
  return *at;
}

Status SilenceTable::Append(const Silence& silence) {
  RETURN_IF_ERROR(Write(
      {{.topic = topic_, .partition = 0, .key = silence.id, .value = EncodeSilence(silence)}}));
  set_.Put(silence);
  const MutexLock lock(&mutex_);
  for (Wakeup* wakeup : listeners_) wakeup->Wake();
  return OkStatus();
}

std::vector<Silence> SilenceTable::List(bool ended) const {
  std::vector<Silence> all = set_.List();
  const int64_t now = clock_->WallNs();
  if (!ended) std::erase_if(all, [&](const Silence& silence) { return silence.ends_ns <= now; });
  return all;
}

void SilenceTable::Listen(Wakeup* wakeup) {
  const MutexLock lock(&mutex_);
  listeners_.insert(wakeup);
}

void SilenceTable::Unlisten(Wakeup* wakeup) {
  const MutexLock lock(&mutex_);
  listeners_.erase(wakeup);
}

}  // namespace pitwall::notifier
