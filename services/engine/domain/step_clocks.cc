#include "services/engine/domain/step_clocks.h"

#include <algorithm>

#include "services/base/check.h"
#include "services/base/text/strings.h"

namespace pitwall::engine {

void StepClocks::AddShared(std::unique_ptr<ClockDomain> runner) {
  PITWALL_CHECK(shared_ == runners_.size());
  runners_.push_back(std::move(runner));
  ++shared_;
}

ClockDomain* StepClocks::AddSeparate(std::unique_ptr<ClockDomain> runner) {
  runners_.push_back(std::move(runner));
  LinkSeparate();
  return runners_.back().get();
}

void StepClocks::RemoveSeparate(std::string_view mode, uint32_t clock) {
  std::erase_if(runners_, [&](const auto& runner) {
    return runner->id().clock != kSharedClock && runner->id().clock == clock &&
           runner->clock().mode == mode;
  });
  LinkSeparate();
}

void StepClocks::RemoveAllSeparate(std::string_view mode) {
  std::erase_if(runners_, [&](const auto& runner) {
    return runner->id().clock != kSharedClock && (mode.empty() || runner->clock().mode == mode);
  });
  LinkSeparate();
}

void StepClocks::Clear() {
  runners_.clear();
  shared_ = 0;
}

StepClocks::Runners StepClocks::Release() {
  Runners released = std::move(runners_);
  for (const auto& runner : released) runner->SetSeparate({});
  Clear();
  return released;
}

ClockDomain* StepClocks::Find(std::string_view mode, uint32_t clock) const {
  for (const auto& runner : runners_) {
    if (runner->id().clock == clock && runner->clock().mode == mode) return runner.get();
  }
  return nullptr;
}

ClockDomain* StepClocks::SeparateBelow(std::string_view mode, Position position) const {
  ClockDomain* nearest = nullptr;
  for (size_t i = shared_; i < runners_.size(); ++i) {
    ClockDomain* runner = runners_[i].get();
    if (runner->clock().mode != mode || runner->ticks().watermark() >= position) continue;
    if (nearest == nullptr || runner->ticks().watermark() > nearest->ticks().watermark())
      nearest = runner;
  }
  return nearest;
}

size_t StepClocks::CountSeparate(std::string_view mode) const {
  return static_cast<size_t>(
      std::count_if(runners_.begin() + static_cast<int64_t>(shared_), runners_.end(),
                    [mode](const auto& runner) { return runner->clock().mode == mode; }));
}

void StepClocks::LinkSeparate() {
  for (size_t i = 0; i < shared_; ++i) {
    std::vector<const ClockDomain*> separate;
    for (size_t j = shared_; j < runners_.size(); ++j) {
      if (runners_[j]->clock() == runners_[i]->clock()) separate.push_back(runners_[j].get());
    }
    runners_[i]->SetSeparate(std::move(separate));
  }
}

void StepClocks::Save(BinaryWriter& out) const {
  out.U64(last_id_);
  out.U64(runners_.size() - shared_);
  for (size_t i = shared_; i < runners_.size(); ++i) {
    out.Str(runners_[i]->clock().mode);
    out.U64(runners_[i]->id().clock);
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
