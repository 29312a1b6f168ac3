#include "services/engine/ticks/subqueries.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "services/engine/program/program_check.h"

namespace pitwall::engine {

std::vector<uint32_t> SubqueriesBelow(const plan::DomainPlan& domain, plan::NodeId node) {
  std::vector<uint32_t> out;
  for (const plan::DemandRef& ref : DemandsBelow(domain, node)) {
    if (ref.source > 0 && (out.empty() || out.back() != ref.source - 1))
      out.push_back(ref.source - 1);
  }
  return out;
}

Subqueries::Subqueries(plan::ProgramPtr program, size_t domain, const window::Limits& limits)
    : program_(std::move(program)), domain_(domain), limits_(limits), schedule_(this->domain()) {
  for (size_t i = 0; i < this->domain().subqueries.size(); ++i)
    results_.push_back(std::make_unique<SubqueryResults>(DemandsOf(i), limits_));
  Link();
}

// The program owns the demands. The shared pointer keeps the program alive while the store uses
// them.
SubqueryResults::DemandsPtr Subqueries::DemandsOf(size_t index) const {
  return {program_, &domain().subqueries[index].demands};
}

void Subqueries::Link() {
  views_.clear();
  inner_.clear();
  for (const auto& results : results_) views_.push_back(&results->store().results());
  for (const plan::Subquery& subquery : domain().subqueries)
    inner_.push_back(SubqueriesBelow(domain(), subquery.expr));
  all_.resize(results_.size());
  std::iota(all_.begin(), all_.end(), 0);
}

void Subqueries::SetOrigin(Position origin) {
  for (const auto& results : results_) results->store().SetOrigin(origin);
}

void Subqueries::Begin(Position tick) {
  tick_ = tick;
  for (size_t i = 0; i < results_.size(); ++i) {
    if (!schedule_.IsDue(i, tick)) results_[i]->BeginTick(tick);
  }
}

void Subqueries::Run(std::span<const uint32_t> wanted, eval::Evaluator* evaluator) {
  for (const uint32_t index : wanted) {
    if (schedule_.IsDue(index, tick_)) RunOne(index, evaluator);
  }
}

void Subqueries::RunOne(size_t index, eval::Evaluator* evaluator) {
  const plan::Subquery& subquery = domain().subqueries[index];
  Run(inner_[index], evaluator);
  schedule_.Advance(index);
  results_[index]->Add(tick_, evaluator->Evaluate(subquery.expr), subquery.reach);
}

Status Subqueries::Check(const plan::DemandRef& ref, Position tick) const {
  const Demand& demand = domain().subqueries[ref.source - 1].demands.demands[ref.demand];
  return results_[ref.source - 1]->Check(demand, ref.demand, tick);
}

Position Subqueries::FullFrom(uint32_t subquery) const {
  const Position since = results_[subquery]->since();
  return since == Position::Earliest() ? since : since + domain().subqueries[subquery].reach;
}

void Subqueries::Expire() {
  for (const auto& results : results_) results->store().Expire();
}

void Subqueries::Reset() {
  for (const auto& results : results_) results->Reset();
  schedule_.Reset();
  tick_ = Position::Earliest();
}

void Subqueries::Replace(plan::ProgramPtr program, size_t domain_index, const ReloadStart& start) {
  const plan::ProgramPtr old_program = std::exchange(program_, std::move(program));
  const plan::DomainPlan& old_domain = old_program->domains[domain_];
  std::vector<std::unique_ptr<SubqueryResults>> old = std::move(results_);
  domain_ = domain_index;
  SubquerySchedule schedule(domain());
  results_.clear();
  for (size_t i = 0; i < domain().subqueries.size(); ++i) {
    std::unique_ptr<SubqueryResults> results;
    for (size_t k = 0; k < old.size(); ++k) {
      if (old[k] == nullptr || old_domain.subqueries[k].key != domain().subqueries[i].key) continue;
      results = std::move(old[k]);
      results->Replace(DemandsOf(i));
      schedule.Inherit(i, schedule_, k);
      break;
    }
    if (results == nullptr) {
      results = std::make_unique<SubqueryResults>(DemandsOf(i), limits_);
      if (start.origin > Position::Earliest()) results->store().SetOrigin(start.origin);
      if (start.after > Position::Earliest()) {
        results->BeginAt(start.after);
        schedule.StartOne(i, start.after);
      }
    }
    results_.push_back(std::move(results));
  }
  schedule_ = std::move(schedule);
  Link();
}

size_t Subqueries::MemoryBytes() const {
  size_t bytes = 0;
  for (const auto& results : results_) bytes += results->MemoryBytes();
  return bytes;
}

void Subqueries::Save(BinaryWriter& out) const {
  out.I64(tick_.ns());
  out.U64(results_.size());
  for (size_t i = 0; i < results_.size(); ++i) {
    out.Str(domain().subqueries[i].key);
    schedule_.SaveNext(i, out);
    results_[i]->Save(out);
  }
}

Status Subqueries::Restore(BinaryReader& in) {
  tick_ = Position::FromNs(in.I64());
  if (in.U64() != results_.size()) return DataLoss("snapshot: created with different subqueries");
  for (size_t i = 0; i < results_.size(); ++i) {
    if (in.Str() != domain().subqueries[i].key)
      return DataLoss("snapshot: created with different subqueries");
    schedule_.RestoreNext(i, in);
    RETURN_IF_ERROR(results_[i]->Restore(in, DemandsOf(i), limits_));
  }
  Link();
  return OkStatus();
}

}  // namespace pitwall::engine
