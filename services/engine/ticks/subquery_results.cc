#include "services/engine/ticks/subquery_results.h"

#include <algorithm>
#include <string>
#include <utility>

#include "services/base/text/strings.h"
#include "services/model/value.h"
#include "services/window/store/store_snapshot.h"

namespace pitwall::engine {

SubqueryResults::SubqueryResults(DemandsPtr demands, const window::Limits& limits)
    : store_(std::make_unique<window::SeriesStore>(std::move(demands), limits)) {}

Status SubqueryResults::Append(Position tick, const StatusOr<const eval::Vector*>& result) {
  RETURN_IF_ERROR(result.status());
  const eval::Vector& vector = **result;
  if (binding_ != vector.binding || !plan_) {
    std::vector<window::SeriesId> ids;
    for (size_t i = 0; i < vector.size(); ++i) {
      ASSIGN_OR_RETURN(const window::SeriesId id, store_->Intern(vector.labels(i)));
      ids.push_back(id);
    }
    ASSIGN_OR_RETURN(const window::RowPlanId plan, store_->Plan(std::move(ids)));
    if (plan_) store_->ReleasePlan(*plan_);
    plan_ = plan;
    binding_ = vector.binding;
  }
  row_.resize(vector.size());
  for (size_t i = 0; i < vector.size(); ++i)
    row_[i] = vector.present[i] != 0 ? vector.values[i] : MissingValue();
  return store_->Append({.position = tick}, *plan_, row_);
}

void SubqueryResults::Add(Position tick, const StatusOr<const eval::Vector*>& result,
                          Duration reach) {
  if (Status added = Append(tick, result); !added.ok()) {
    std::erase_if(failures_, [&](Position position) { return position <= tick - reach; });
    failures_.push_back(tick);
    failure_ = std::move(added);
  }
  BeginTick(tick);
}

void SubqueryResults::BeginTick(Position tick) {
  store_->SealTo(tick);
  store_->BeginTick(tick);
}

Status SubqueryResults::Check(const Demand& demand, uint32_t index, Position tick) const {
  const Position end = tick - Duration::Nanos(demand.offset);
  const auto failed = std::upper_bound(failures_.begin(), failures_.end(),
                                       end - Duration::Nanos(demand.range + demand.lookback));
  if (failed != failures_.end() && *failed <= end) return failure_;
  return store_->results().StatusOf(index);
}

void SubqueryResults::Replace(DemandsPtr demands) {
  store_->Replace(std::move(demands));
  binding_ = 0;
}

void SubqueryResults::Reset() {
  store_->Reset();
  since_ = Position::Earliest();
  failures_.clear();
  failure_ = OkStatus();
}

size_t SubqueryResults::MemoryBytes() const {
  return sizeof(*this) + store_->MemoryBytes() + row_.capacity() * sizeof(double);
}

void SubqueryResults::Save(BinaryWriter& out) const {
  out.I64(since_.ns());
  out.U64(failures_.size());
  for (const Position position : failures_) out.I64(position.ns());
  out.U64(static_cast<uint64_t>(failure_.code()));
  out.Str(ToStd(failure_.message()));
  BinaryWriter store;
  window::StoreSnapshot::Save(*store_, store);
  out.Str(store.data());
}

Status SubqueryResults::Restore(BinaryReader& in, DemandsPtr demands,
                                const window::Limits& limits) {
  *this = SubqueryResults(demands, limits);
  since_ = Position::FromNs(in.I64());
  for (size_t n = in.Count(); n > 0; --n) failures_.push_back(Position::FromNs(in.I64()));
  const uint64_t code = in.U64();
  const std::string message = in.Str();
  if (code > static_cast<uint64_t>(absl::StatusCode::kUnauthenticated)) in.Fail();
  failure_ = Status(static_cast<absl::StatusCode>(code), message);
  const std::string bytes = in.Str();
  if (!in.ok()) return DataLoss("snapshot: subquery is damaged");
  BinaryReader store(bytes);
  ASSIGN_OR_RETURN(store_, window::StoreSnapshot::Restore(store, std::move(demands), limits));
  return OkStatus();
}

}  // namespace pitwall::engine
