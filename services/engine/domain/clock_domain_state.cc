// Snapshot of a domain: everything needed to go on as if nothing had happened, to the bit.
#include "services/base/text/strings.h"
#include "services/engine/domain/clock_domain.h"
#include "services/engine/domain/rule_state.h"

namespace pitwall::engine {

namespace {

void SaveIds(const std::vector<window::SeriesId>& ids, BinaryWriter& out) {
  out.U64(ids.size());
  for (const window::SeriesId id : ids) out.U64(id.value());
}

std::vector<window::SeriesId> ReadIds(BinaryReader& in) {
  std::vector<window::SeriesId> ids;
  for (size_t n = in.Count(); n > 0; --n)
    ids.push_back(window::SeriesId(static_cast<uint32_t>(in.U64())));
  return ids;
}

}  // namespace

void ClockDomain::Save(BinaryWriter& out) const {
  BinaryWriter store;
  store_->Save(store);
  out.Str(store.data());
  subqueries_.Save(out);
  out.I64(origin_);
  out.Bool(scheduled_);
  out.I64(last_tick_);
  out.I64(watermark);
  out.I64(last_activity_);
  step_times_.Save(out);
  patience_.Save(out);
  out.U64(groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g) {
    out.Str(domain().groups[g].name);
    out.I64(groups_[g].next);
    SaveIds(groups_[g].orphans, out);
    out.U64(groups_[g].rules.size());
    for (const auto& state : groups_[g].rules) {
      out.Str(state->rule->name);
      out.Bool(state->alerts.has_value());
      if (state->alerts.has_value()) state->alerts->Save(out);
      state->status.Save(out);
      state->inputs.Save(out);
      out.Bytes(state->needs_met);
      out.Bool(state->needs_judged);
      state->history_wait.Save(out);
      SaveIds(state->last_written, out);
    }
  }
}

Status ClockDomain::Restore(BinaryReader& in, uint32_t format) {
  const std::string store_bytes = in.Str();
  BinaryReader store_reader(store_bytes);
  ASSIGN_OR_RETURN(store_,
                   window::SeriesStore::Restore(
                       store_reader, std::shared_ptr<const DemandSet>(program_, &domain().demands),
                       StoreLimits()));
  RETURN_IF_ERROR(subqueries_.Restore(in));
  origin_ = in.I64();
  scheduled_ = in.Bool();
  last_tick_ = in.I64();
  watermark = in.I64();
  last_activity_ = in.I64();
  step_times_.Restore(in, /*ordinals=*/format >= 7);
  if (format >= 7) patience_.Restore(in);
  if (in.U64() != groups_.size()) return DataLoss("snapshot: made with other rule groups");
  for (size_t g = 0; g < groups_.size(); ++g) {
    const std::string name = in.Str();
    if (name != domain().groups[g].name) {
      return DataLoss(Cat("snapshot: has group ", Quote(name), " where the rules have ",
                          Quote(domain().groups[g].name)));
    }
    groups_[g].next = in.I64();
    groups_[g].orphans = ReadIds(in);
    if (in.U64() != groups_[g].rules.size())
      return DataLoss(Cat("snapshot: group ", name, " had other rules"));
    for (const auto& state : groups_[g].rules) {
      const std::string rule = in.Str();
      const bool alerting = in.Bool();
      if (rule != state->rule->name || alerting != state->alerts.has_value()) {
        return DataLoss(Cat("snapshot: has rule ", Quote(rule), " where the rules have ",
                            Quote(state->rule->name)));
      }
      if (alerting) state->alerts->Restore(in);
      state->status.Restore(in);
      state->inputs.Restore(in);
      state->needs_met = in.Bytes();
      if (state->needs_met.size() != state->rule->needs.size()) in.Fail();
      state->needs_judged = in.Bool();
      state->history_wait.Restore(in);
      state->last_written = ReadIds(in);
      if (!in.ok()) return DataLoss(Cat("snapshot: damaged state of rule ", rule));
    }
  }
  return in.ok() ? OkStatus() : DataLoss("snapshot: damaged rule state");
}

}  // namespace pitwall::engine
