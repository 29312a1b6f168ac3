#include "services/engine/domain/subqueries.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "services/base/text/strings.h"
#include "services/engine/program/program_check.h"
#include "services/model/value.h"

namespace pitwall::engine {

std::vector<uint32_t> SubqueriesBelow(const plan::DomainPlan& domain, plan::NodeId node) {
  std::vector<uint32_t> out;
  for (const plan::DemandRef& ref : DemandsBelow(domain, node)) {
    if (ref.source > 0 && (out.empty() || out.back() != ref.source - 1))
      out.push_back(ref.source - 1);
  }
  return out;
}

struct Subqueries::State {
  std::unique_ptr<window::SeriesStore> store;
  int64_t next = kMaxPosition;   // step that is due next
  int64_t since = kMinPosition;  // added to a running job then
  // Steps that failed and that some window may still hold, ascending, and what the newest one said.
  std::vector<int64_t> failures;
  Status failure;
  // The layout of a row of results, for as long as their binding stays.
  uint64_t binding = 0;
  std::optional<window::RowPlanId> plan;
  std::vector<double> row;  // scratch
};

Subqueries::Subqueries(plan::ProgramPtr program, size_t domain, const window::Limits& limits)
    : program_(std::move(program)), domain_(domain), limits_(limits) {
  for (size_t i = 0; i < this->domain().subqueries.size(); ++i) states_.push_back(Make(i));
  ListViews();
}

Subqueries::~Subqueries() = default;

// The program owns the demands: the store keeps the program alive through them.
std::shared_ptr<const DemandSet> Subqueries::DemandsOf(size_t index) const {
  return {program_, &domain().subqueries[index].demands};
}

std::unique_ptr<Subqueries::State> Subqueries::Make(size_t index) const {
  auto state = std::make_unique<State>();
  state->store = std::make_unique<window::SeriesStore>(DemandsOf(index), limits_);
  return state;
}

void Subqueries::ListViews() {
  views_.clear();
  inner_.clear();
  for (const auto& state : states_) views_.push_back(state->store.get());
  for (const plan::Subquery& subquery : domain().subqueries)
    inner_.push_back(SubqueriesBelow(domain(), subquery.expr));
  // Whoever reads a subquery comes behind it: all that do, one around the other, at the most. A
  // window that ends at a tick is read until the next.
  reach_.assign(states_.size(), 0);
  int64_t reach = 0;
  for (size_t i = states_.size(); i-- > 0;) {
    int64_t interval = 0;
    for (const Demand& demand : domain().subqueries[i].demands.demands)
      interval = std::max(interval, demand.interval);
    reach += domain().subqueries[i].reach + interval;
    reach_[i] = reach;
  }
  all_.resize(states_.size());
  std::iota(all_.begin(), all_.end(), 0);
}

void Subqueries::SetOrigin(int64_t origin) {
  for (const auto& state : states_) state->store->SetOrigin(origin);
}

void Subqueries::Start(int64_t position, int64_t not_before) {
  for (size_t i = 0; i < states_.size(); ++i) {
    const plan::Subquery& subquery = domain().subqueries[i];
    const int64_t from = position - (subquery.from_nothing ? reach_[i] : 0);
    states_[i]->next = NextAfter(std::max(from, not_before), subquery.step);
  }
}

int64_t Subqueries::NextTick() const {
  int64_t next = kMaxPosition;
  for (const auto& state : states_) next = std::min(next, state->next);
  return next;
}

void Subqueries::SkipTo(int64_t position) {
  for (size_t i = 0; i < states_.size(); ++i) {
    const plan::Subquery& subquery = domain().subqueries[i];
    states_[i]->next = std::max(states_[i]->next, NextAfter(position - reach_[i], subquery.step));
  }
}

void Subqueries::Begin(int64_t tick) {
  tick_ = tick;
  for (const auto& state : states_) {
    if (state->next == tick) continue;
    state->store->SealTo(tick);
    state->store->BeginTick(tick);
  }
}

void Subqueries::Run(std::span<const uint32_t> wanted, eval::Evaluator* evaluator) {
  for (const uint32_t index : wanted) {
    if (states_[index]->next == tick_) RunOne(index, evaluator);
  }
}

void Subqueries::Finish(eval::Evaluator* evaluator) { Run(all_, evaluator); }

void Subqueries::RunOne(size_t index, eval::Evaluator* evaluator) {
  const plan::Subquery& subquery = domain().subqueries[index];
  State& state = *states_[index];
  Run(inner_[index], evaluator);
  state.next += subquery.step;
  window::SeriesStore& store = *state.store;
  const auto record = [&]() -> Status {
    ASSIGN_OR_RETURN(const eval::Vector* result, evaluator->Evaluate(subquery.expr));
    if (state.binding != result->binding || !state.plan) {
      std::vector<window::SeriesId> ids;
      for (size_t i = 0; i < result->size(); ++i) {
        ASSIGN_OR_RETURN(const window::SeriesId id, store.Intern(result->labels(i)));
        ids.push_back(id);
      }
      ASSIGN_OR_RETURN(const window::RowPlanId plan, store.Plan(std::move(ids)));
      if (state.plan) store.ReleasePlan(*state.plan);
      state.plan = plan;
      state.binding = result->binding;
    }
    state.row.resize(result->size());
    for (size_t i = 0; i < result->size(); ++i)
      state.row[i] = result->present[i] != 0 ? result->values[i] : MissingValue();
    return store.Append({.position = tick_}, *state.plan, state.row);
  };
  if (Status recorded = record(); !recorded.ok()) {
    std::erase_if(state.failures,
                  [&](int64_t position) { return position <= tick_ - subquery.reach; });
    state.failures.push_back(tick_);
    state.failure = std::move(recorded);
  }
  store.SealTo(tick_);
  store.BeginTick(tick_);
}

Status Subqueries::Check(const plan::DemandRef& ref, int64_t tick) const {
  const State& state = *states_[ref.source - 1];
  const Demand& demand = domain().subqueries[ref.source - 1].demands.demands[ref.demand];
  const int64_t end = tick - demand.offset;
  const auto failed = std::upper_bound(state.failures.begin(), state.failures.end(),
                                       end - demand.range - demand.lookback);
  if (failed != state.failures.end() && *failed <= end) return state.failure;
  return state.store->DemandStatus(ref.demand);
}

int64_t Subqueries::FullFrom(uint32_t subquery) const {
  const int64_t since = states_[subquery]->since;
  return since == kMinPosition ? since : since + domain().subqueries[subquery].reach;
}

void Subqueries::Expire() {
  for (const auto& state : states_) state->store->Expire();
}

void Subqueries::Reset() {
  for (const auto& state : states_) {
    state->store->Reset();
    state->next = kMaxPosition;
    state->since = kMinPosition;
    state->failures.clear();
    state->failure = OkStatus();
  }
  tick_ = kMinPosition;
}

void Subqueries::Replace(plan::ProgramPtr program, size_t domain_index, int64_t position) {
  const plan::ProgramPtr old_program = std::move(program_);
  const plan::DomainPlan& old_space = old_program->domains[domain_];
  std::vector<std::unique_ptr<State>> old = std::move(states_);
  program_ = std::move(program);
  domain_ = domain_index;
  states_.clear();
  for (size_t i = 0; i < domain().subqueries.size(); ++i) {
    const plan::Subquery& subquery = domain().subqueries[i];
    std::unique_ptr<State> state;
    for (size_t k = 0; k < old.size(); ++k) {
      if (old[k] == nullptr || old_space.subqueries[k].key != subquery.key) continue;
      state = std::move(old[k]);
      state->store->Replace(DemandsOf(i));
      state->binding = 0;  // another evaluator's
      break;
    }
    if (state == nullptr) {
      state = Make(i);
      if (position > kMinPosition) {
        state->since = position;
        state->next = NextAfter(position, subquery.step);
      }
    }
    states_.push_back(std::move(state));
  }
  ListViews();
}

size_t Subqueries::MemoryBytes() const {
  size_t bytes = 0;
  for (const auto& state : states_)
    bytes += sizeof(State) + state->store->MemoryBytes() + state->row.capacity() * 8;
  return bytes;
}

void Subqueries::Save(BinaryWriter& out) const {
  out.I64(tick_);
  out.U64(states_.size());
  for (size_t i = 0; i < states_.size(); ++i) {
    const State& state = *states_[i];
    out.Str(domain().subqueries[i].key);
    out.I64(state.next);
    out.I64(state.since);
    out.U64(state.failures.size());
    for (const int64_t position : state.failures) out.I64(position);
    out.U64(static_cast<uint64_t>(state.failure.code()));
    out.Str(ToStd(state.failure.message()));
    BinaryWriter store;
    state.store->Save(store);
    out.Str(store.data());
  }
}

Status Subqueries::Restore(BinaryReader& in) {
  tick_ = in.I64();
  if (in.U64() != states_.size()) return DataLoss("snapshot: made with other subqueries");
  for (size_t i = 0; i < states_.size(); ++i) {
    auto state = std::make_unique<State>();
    if (in.Str() != domain().subqueries[i].key)
      return DataLoss("snapshot: made with other subqueries");
    state->next = in.I64();
    state->since = in.I64();
    for (size_t n = in.Count(); n > 0; --n) state->failures.push_back(in.I64());
    const uint64_t code = in.U64();
    const std::string message = in.Str();
    if (code > static_cast<uint64_t>(absl::StatusCode::kUnauthenticated)) in.Fail();
    state->failure = Status(static_cast<absl::StatusCode>(code), message);
    const std::string bytes = in.Str();
    if (!in.ok()) return DataLoss("snapshot: damaged subquery");
    BinaryReader store(bytes);
    ASSIGN_OR_RETURN(state->store, window::SeriesStore::Restore(store, DemandsOf(i), limits_));
    states_[i] = std::move(state);
  }
  ListViews();
  return OkStatus();
}

}  // namespace pitwall::engine
