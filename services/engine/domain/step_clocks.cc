#include "services/engine/domain/step_clocks.h"

#include <algorithm>

#include "services/base/check.h"
#include "services/base/text/strings.h"

namespace pitwall::engine {

void StepClocks::AddShared(std::unique_ptr<ClockDomain> runner) {
  PITWALL_CHECK(shared_ == domains_.size());
  domains_.push_back(std::move(runner));
  ++shared_;
}

ClockDomain* StepClocks::AddSeparate(std::unique_ptr<ClockDomain> runner) {
  domains_.push_back(std::move(runner));
  LinkSeparate();
  return domains_.back().get();
}

void StepClocks::RemoveSeparate(std::string_view mode, uint32_t clock) {
  std::erase_if(domains_, [&](const auto& runner) {
    return runner->id().clock != kSharedClock && runner->id().clock == clock &&
           runner->clock().mode == mode;
  });
  LinkSeparate();
}

void StepClocks::RemoveAllSeparate(std::string_view mode) {
  std::erase_if(domains_, [&](const auto& runner) {
    return runner->id().clock != kSharedClock && (mode.empty() || runner->clock().mode == mode);
  });
  LinkSeparate();
}

void StepClocks::Clear() {
  domains_.clear();
  shared_ = 0;
}

StepClocks::Domains StepClocks::Release() {
  Domains released = std::move(domains_);
  for (const auto& runner : released) runner->SetSeparate({});
  Clear();
  return released;
}

ClockDomain* StepClocks::Find(std::string_view mode, uint32_t clock) const {
  for (const auto& runner : domains_) {
    if (runner->id().clock == clock && runner->clock().mode == mode) return runner.get();
  }
  return nullptr;
}

ClockDomain* StepClocks::SeparateBelow(std::string_view mode, Position position) const {
  ClockDomain* nearest = nullptr;
  for (size_t i = shared_; i < domains_.size(); ++i) {
    ClockDomain* runner = domains_[i].get();
    if (runner->clock().mode != mode || runner->ticks().watermark() >= position) continue;
    if (nearest == nullptr || runner->ticks().watermark() > nearest->ticks().watermark())
      nearest = runner;
  }
  return nearest;
}

size_t StepClocks::CountSeparate(std::string_view mode) const {
  return static_cast<size_t>(
      std::count_if(domains_.begin() + static_cast<int64_t>(shared_), domains_.end(),
                    [mode](const auto& runner) { return runner->clock().mode == mode; }));
}

void StepClocks::LinkSeparate() {
  for (size_t i = 0; i < shared_; ++i) {
    std::vector<const ClockDomain*> separate;
    for (size_t j = shared_; j < domains_.size(); ++j) {
      if (domains_[j]->clock() == domains_[i]->clock()) separate.push_back(domains_[j].get());
    }
    domains_[i]->SetSeparate(std::move(separate));
  }
}

void StepClocks::Save(BinaryWriter& out) const {
  out.U64(last_id_);
  out.U64(domains_.size() - shared_);
  for (size_t i = shared_; i < domains_.size(); ++i) {
    out.Str(domains_[i]->clock().mode);
    out.U64(domains_[i]->id().clock);
  }
}

Status StepClocks::Restore(
    BinaryReader& in, const std::function<std::unique_ptr<ClockDomain>(size_t, uint32_t)>& make) {
  last_id_ = static_cast<uint32_t>(in.U64());
  for (size_t n = in.Count(2); n > 0; --n) {
    const std::string mode = in.Str();
    const auto id = static_cast<uint32_t>(in.U64());
    const ClockDomain* shared = Shared(mode);
    if (shared == nullptr || id == kSharedClock)
      return DataLoss(Cat("snapshot: separate step clock for mode ", Quote(mode), " has no rules"));
    AddSeparate(make(shared->id().index, id));
  }
  return OkStatus();
}

}  // namespace pitwall::engine
