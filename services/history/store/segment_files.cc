#include "services/history/store/segment_files.h"

#include "services/adapters/files/file.h"
#include "services/base/cancellation.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::history {

std::string SegmentFiles::PathOf(const SegmentMeta& facts) const {
  return Cat(dir_, "/", StableHashHex(facts.job), "/", facts.window_ns / kNanosPerSecond, "-",
             facts.generation, ".seg");
}

StatusOr<std::shared_ptr<const WindowSegment>> SegmentFiles::Open(const SegmentMeta& facts) {
  RETURN_IF_ERROR(CheckCanceled());
  const SegmentCache::Key key = SegmentCache::OpenKey(facts.generation);
  if (auto open = cache_.Find<WindowSegment>(key); open != nullptr) return open;
  const auto note = [this, facts](const Status& damage) {
    NoteDamage(facts, ToStd(damage.message()));
  };
  auto opened = WindowSegment::Open(PathOf(facts), &facts, {&cache_, &schemas_, note});
  if (absl::IsDataLoss(opened.status())) note(opened.status());
  RETURN_IF_ERROR(opened.status());
  std::shared_ptr<const WindowSegment> segment = *std::move(opened);
  cache_.Put(key, segment, segment->bytes());
  return segment;
}

void SegmentFiles::NoteDamage(const SegmentMeta& facts, std::string_view what) {
  MutexLock lock(&mutex_);
  damage_.try_emplace({facts.job, PathOf(facts)}, what);
}

Status SegmentFiles::Damage() const {
  MutexLock lock(&mutex_);
  if (damage_.empty()) return OkStatus();
  const auto& [place, what] = *damage_.begin();
  return DataLoss(
      Cat("history: ", damage_.size(), damage_.size() == 1 ? " segment is" : " segments are",
          " missing or damaged (", what, "); restore the file from a backup or delete the job"));
}

void SegmentFiles::Discard(const SegmentMeta& facts) {
  MutexLock lock(&mutex_);
  damage_.erase({facts.job, PathOf(facts)});
  discarded_.push_back(facts);
}

Status SegmentFiles::Settle(store::Database* database) {
  // The list is taken first, because partitions and retention call Settle concurrently.
  std::vector<SegmentMeta> gone;
  {
    MutexLock lock(&mutex_);
    gone.swap(discarded_);
  }
  Status status = database->Settle();
  size_t removed = 0;
  for (; status.ok() && removed < gone.size(); ++removed) {
    status = files::Remove(PathOf(gone[removed]));
    if (!status.ok()) break;
    cache_.Erase(SegmentCache::OpenKey(gone[removed].generation));
  }
  if (status.ok()) return status;
  MutexLock lock(&mutex_);
  discarded_.insert(discarded_.begin(), gone.begin() + static_cast<int64_t>(removed), gone.end());
  return status;
}

void SegmentFiles::Forget(const std::string& job) {
  {
    MutexLock lock(&mutex_);
    std::erase_if(damage_, [&job](const auto& entry) { return entry.first.first == job; });
  }
  schemas_.Remove(job);
  cache_.Clear();  // frees all entries
}

}  // namespace pitwall::history
