#include "rules/alert/alert_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "rules/alert/label_codec.h"
#include "services/model/position.h"

namespace pitwall::alert {

Alert* AlertTable::Find(const Labels& labels) const {
  const auto it = std::lower_bound(
      alerts_.begin(), alerts_.end(), labels,
      [](const std::unique_ptr<Alert>& a, const Labels& l) { return a->labels < l; });
  return it != alerts_.end() && (*it)->labels == labels ? it->get() : nullptr;
}

const EvalTime* AlertTable::FirstPending() const {
  const EvalTime* first = nullptr;
  for (const auto& alert : alerts_) {
    if (!alert->firing && (first == nullptr || alert->active.position < first->position))
      first = &alert->active;
  }
  return first;
}

ActiveAlert AlertTable::Active(size_t i, const AlertRule& rule) const {
  Alert& alert = *alerts_[i];
  if (alert.alerts_series.empty()) NameSeries(rule, alert);
  ActiveAlert out;
  out.labels = &alert.labels;
  out.alerts_series = &alert.alerts_series;
  out.for_state_series = &alert.for_state_series;
  out.firing = alert.firing;
  out.value = alert.value;
  out.active_seconds =
      static_cast<double>(FloorTo(alert.active.position, kStepLength).ns() / kStepLength.ns());
  out.active = &alert.active;
  out.started = &alert.started;
  out.sequence = alert.sequence;
  return out;
}

void AlertTable::Bind(const eval::LabelColumnPtr& column) {
  if (column_ == column) return;
  column_ = column;
  for (auto& alert : alerts_) alert->place = column_->Find(alert->element);
  SortByPlace();
}

void AlertTable::SortByPlace() {
  by_place_.clear();
  for (auto& alert : alerts_) {
    if (alert->place >= 0) by_place_.push_back(alert.get());
  }
  std::sort(by_place_.begin(), by_place_.end(),
            [](const Alert* a, const Alert* b) { return a->place < b->place; });
}

void AlertTable::MarkFiring(Alert* alert) {
  alert->firing = true;
  alert->alerts_series = Labels();
  ++firing_;
}

void AlertTable::Commit(bool removes, bool moved) {
  if (removes) {
    std::erase_if(alerts_, [this](const auto& alert) {
      const bool stays = alert->step.fate == AlertStep::Fate::kStay;
      if (!stays && alert->firing) --firing_;
      return !stays;
    });
  }
  const bool adds = !added_.empty();
  if (adds) {
    const auto middle = static_cast<std::ptrdiff_t>(alerts_.size());
    std::move(added_.begin(), added_.end(), std::back_inserter(alerts_));
    added_.clear();
    std::inplace_merge(alerts_.begin(), alerts_.begin() + middle, alerts_.end(),
                       [](const auto& a, const auto& b) { return a->labels < b->labels; });
  }
  if (moved || removes || adds) SortByPlace();
}

void AlertTable::Clear() {
  alerts_.clear();
  by_place_.clear();
  firing_ = 0;
}

void AlertTable::Save(BinaryWriter& out) const {
  out.U64(alerts_.size());
  LabelsWriter labels(out), elements(out);
  for (const auto& alert : alerts_) SaveAlert(*alert, labels, elements, out);
}

void AlertTable::Restore(BinaryReader& in) {
  Clear();
  Unbind();
  const size_t n = in.Count(20);
  LabelsReader labels(in), elements(in);
  for (size_t i = 0; i < n && in.ok(); ++i) {
    auto alert = std::make_unique<Alert>(ReadAlert(labels, elements, in));
    if (!alerts_.empty() && !(alerts_.back()->labels < alert->labels)) in.Fail();
    firing_ += alert->firing;
    alerts_.push_back(std::move(alert));
  }
}

}  // namespace pitwall::alert
