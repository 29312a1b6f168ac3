#include "services/engine/ticks/domain_inputs.h"

#include <algorithm>
#include <utility>

#include "services/window/store/store_snapshot.h"

namespace pitwall::engine {

namespace {

// The program owns the demands. The shared pointer keeps the program alive while the store uses
// them.
std::shared_ptr<const DemandSet> DemandsOf(const plan::ProgramPtr& program, size_t domain) {
  return {program, &program->domains[domain].demands};
}

}  // namespace

DomainInputs::DomainInputs(plan::ProgramPtr program, size_t domain, const Limits& limits)
    : program_(std::move(program)),
      domain_(domain),
      limits_(limits.series),
      store_(std::make_shared<window::SeriesStore>(DemandsOf(program_, domain_), limits_)),
      subqueries_(program_, domain, limits.subqueries),
      evaluator_(std::make_unique<eval::Evaluator>(program_, domain)) {}

void DomainInputs::SetOrigin(Position origin) {
  store_->SetOrigin(origin);
  subqueries_.SetOrigin(origin);
}

void DomainInputs::BeginTick(Position tick) {
  store_->SealTo(tick);
  store_->BeginTick(tick);
  evaluator_->Begin(tick.ns(), &store_->results(), subqueries_.views());
  subqueries_.Begin(tick);
}

bool DomainInputs::ReturnTo(Position tick) {
  if (store_->sealed() != tick) return false;
  store_->BeginTick(tick);
  evaluator_->Begin(tick.ns(), &store_->results(), subqueries_.views());
  subqueries_.Begin(tick);
  return true;
}

Status DomainInputs::CheckWindows(std::span<const plan::DemandRef> demands, Position tick) const {
  for (const plan::DemandRef& ref : demands) {
    Status status =
        ref.source == 0 ? store_->results().StatusOf(ref.demand) : subqueries_.Check(ref, tick);
    if (!status.ok()) return status;
  }
  return OkStatus();
}

void DomainInputs::Replace(plan::ProgramPtr program, size_t domain, const ReloadStart& start) {
  program_ = std::move(program);
  domain_ = domain;
  store_->Replace(DemandsOf(program_, domain_));
  subqueries_.Replace(program_, domain_, start);
  evaluator_ = std::make_unique<eval::Evaluator>(program_, domain_);
}

void DomainInputs::Reset() {
  store_->Reset();
  subqueries_.Reset();
}

std::vector<window::SeriesId> DomainInputs::Expire() {
  subqueries_.Expire();
  std::vector<window::SeriesId> forgotten = store_->Expire();
  std::sort(forgotten.begin(), forgotten.end());
  return forgotten;
}

size_t DomainInputs::MemoryBytes() const {
  return store_->MemoryBytes() + subqueries_.MemoryBytes() + evaluator_->MemoryBytes();
}

void DomainInputs::Save(BinaryWriter& out) const {
  BinaryWriter store;
  window::StoreSnapshot::Save(*store_, store);
  out.Str(store.data());
  subqueries_.Save(out);
}

Status DomainInputs::Restore(BinaryReader& in) {
  const std::string bytes = in.Str();
  BinaryReader store(bytes);
  ASSIGN_OR_RETURN(store_,
                   window::StoreSnapshot::Restore(store, DemandsOf(program_, domain_), limits_));
  return subqueries_.Restore(in);
}

}  // namespace pitwall::engine
