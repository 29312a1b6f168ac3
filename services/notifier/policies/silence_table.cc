#include "services/notifier/policies/silence_table.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::notifier {

SilenceTable::SilenceTable(Clock* clock, Log* log, std::string topic)
    : clock_(clock),
      log_(log),
      table_(
          clock, log, std::move(topic),
          {.put = [this](const Record& record) { Put(record); },
           .remove = [this](const std::string& id) { set_.Remove(id); },
           // Silences of the former topic stay in force until they end.
           .replaced =
               [](const Status& why) { PITWALL_LOG(kError, "notifier", ToStd(why.message())); }}) {
  const MutexLock lock(&mutex_);
  age_clock_.Advance(clock_->WallNs(), clock_->MonotonicNs());  // starts the retention period
}

Status SilenceTable::Open() {
  RETURN_IF_ERROR(log_->EnsureTopic(table_.topic(), {.partitions = 1, .compacted = true}));
  return table_.ReadToEnd();
}

Status SilenceTable::ReadNew() {
  ASSIGN_OR_RETURN(const bool changed, table_.ReadNew());
  if (changed) WakeListeners();
  return OkStatus();
}

void SilenceTable::Put(const Record& record) {
  StatusOr<Silence> silence = DecodeSilence(record.value);
  if (silence.ok()) {
    set_.Put(*std::move(silence));
  } else {
    PITWALL_LOG(kWarning, "notifier", table_.topic(), " offset ", record.offset, ": ",
                ToStd(silence.status().message()));
  }
}

void SilenceTable::WakeListeners() {
  const MutexLock lock(&mutex_);
  for (Wakeup* wakeup : listeners_) wakeup->Wake();
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
    tombstones.push_back(
        {.topic = table_.topic(), .partition = 0, .key = silence.id, .tombstone = true});
  }
  if (tombstones.empty()) return OkStatus();
  RETURN_IF_ERROR(table_.Write(tombstones));
  for (const OutgoingRecord& tombstone : tombstones) set_.Remove(tombstone.key);
  return OkStatus();
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
  RETURN_IF_ERROR(table_.Write({{.topic = table_.topic(),
                                 .partition = 0,
                                 .key = silence.id,
                                 .value = EncodeSilence(silence)}}));
  set_.Put(silence);
  WakeListeners();
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
