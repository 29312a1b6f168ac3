#include "services/engine/lifecycle/job_owner.h"

namespace pitwall::engine {

JobOwner::Verdict JobOwner::Judge(const Batch& batch, bool ended) const {
  if (batch.owner.empty()) return declared_ ? Verdict::kOther : Verdict::kOurs;
  if (owner_.empty() || batch.owner == owner_) return Verdict::kOurs;
  if (declared_) return Verdict::kOther;
  return batch.owner_declared || ended ? Verdict::kDisplaces : Verdict::kOther;
}

void JobOwner::Adopt(const Batch& batch) {
  if (batch.owner.empty()) return;
  owner_ = batch.owner;
  declared_ = declared_ || batch.owner_declared;
}

bool JobOwner::Refuse(const Batch& batch) {
  const Sender sender(batch.source, batch.info.node);
  if (const auto known = refused_.find(sender); known != refused_.end()) {
    known->second = Duration::Zero();
    return false;
  }
  if (refused_.size() >= kMaxSenders) return false;
  refused_[sender] = Duration::Zero();
  return true;
}

std::vector<JobOwner::Sender> JobOwner::Tick(Duration elapsed) {
  std::vector<Sender> silent;
  for (auto it = refused_.begin(); it != refused_.end();) {
    it->second += elapsed;
    if (it->second < kForgetAfter) {
      ++it;
      continue;
    }
    silent.push_back(it->first);
    it = refused_.erase(it);
  }
  return silent;
}

void JobOwner::Save(BinaryWriter& out) const {
  out.Str(owner_);
  out.Bool(declared_);
  out.U64(refused_.size());
  for (const auto& [sender, silent] : refused_) {
    out.Str(sender.first);
    out.Str(sender.second);
    out.I64(silent.ns());
  }
}

void JobOwner::Restore(BinaryReader& in) {
  owner_ = in.Str();
  declared_ = in.Bool();
  refused_.clear();
  for (size_t n = in.Count(3); n > 0; --n) {
    Sender sender;
    sender.first = in.Str();
    sender.second = in.Str();
    refused_[std::move(sender)] = Duration::Nanos(in.I64());
  }
}

}  // namespace pitwall::engine
