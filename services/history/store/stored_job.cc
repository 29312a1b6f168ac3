#include "services/history/store/stored_job.h"

namespace pitwall::history {

void StoredJob::Collect(store::DatabaseChange* change) const {
  telemetry_.Collect(id_, change);
  for (const KeptRecord& record : records_)
    change->put.push_back({kEventRow, id_, NumberKey(record.number), EncodeRecord(record)});
}

void StoredJob::Collected(size_t records) {
  telemetry_.MarkSaved();
  records_.erase(records_.begin(), records_.begin() + static_cast<int64_t>(records));
}

JobLifePtr StoredJob::SharedLife() const {
  if (summary_ != nullptr) return summary_->life;
  JobOverview life;
  life.id = id_;
  telemetry_.Fill(story_, &life);
  return std::make_shared<const JobOverview>(std::move(life));
}

uint64_t StoredJob::disk_bytes() const {
  return summary_ != nullptr ? summary_->disk_bytes : telemetry_.windows().disk_bytes();
}

bool StoredJob::Unload() {
  const bool unused = !std::exchange(used_, false);
  const bool in_memory = telemetry_.windows().head_bytes() > 0 || telemetry_.waiting();
  if (!unused || !loaded() || pins_ > 0 || in_memory || dirty()) return false;
  summary_ = std::make_unique<const Summary>(Summary{SharedLife(), disk_bytes()});
  telemetry_.Free();
  records_ = std::deque<KeptRecord>();
  return true;
}

void StoredJob::EndLoad(const Status& loaded) {
  if (!loaded.ok()) return telemetry_.Free();
  summary_ = nullptr;
  used_ = true;
}

std::shared_ptr<StoredJob> StoredJob::Pin(std::shared_ptr<StoredJob> job) {
  ++job->pins_;
  StoredJob* const pinned = job.get();
  return {pinned, [job = std::move(job)](StoredJob* unpinned) { --unpinned->pins_; }};
}

}  // namespace pitwall::history
