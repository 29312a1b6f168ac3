#include "services/collector/publishing/lane_spools.h"

#include "services/base/log.h"

namespace pitwall::collector {

Status LaneSpools::Open(const std::string& dir, uint64_t max_bytes, Counters* counters,
                        ClientCursors* cursors) {
  ASSIGN_OR_RETURN(spools_, SpoolSet::Open(dir, max_bytes, counters, cursors));
  return OkStatus();
}

bool LaneSpools::Check(const Status& status) {
  if (status.ok()) return true;
  if (!failed_) PITWALL_LOG(kError, "collector", "spool: ", ToStd(status.message()));
  failed_ = true;
  return false;
}

bool LaneSpools::Empty(uint64_t lane) {
  const Spool* spool = open() ? spools_->Find(lane) : nullptr;
  return spool == nullptr || spool->empty();
}

bool LaneSpools::Append(uint64_t lane, const std::vector<PendingRecord>& records,
                        Spool::Position* end) {
  return Check(spools_->Append(lane, records, end));
}

bool LaneSpools::Read(uint64_t lane, size_t max_records, size_t max_bytes,
                      std::vector<PendingRecord>* out, Spool::Position* end) {
  Spool* spool = spools_->Find(lane);
  if (!Check(spool->Read(max_records, max_bytes, out, end))) return false;
  if (out->empty()) (void)spool->Acknowledge(*end);  // all records are damaged
  return true;
}

void LaneSpools::Acknowledge(uint64_t lane, const Spool::Position& position) {
  Check(spools_->Find(lane)->Acknowledge(position));
}

void LaneSpools::Remove(uint64_t lane) {
  if (open()) Check(spools_->Remove(lane));
}

void LaneSpools::Sync() {
  if (open()) Check(spools_->Sync());
}

}  // namespace pitwall::collector
