#include "rules/alert/issues/recurrence.h"

#include <algorithm>
#include <cstdio>

#include "rules/alert/alert_record.h"
#include "services/base/text/strings.h"

namespace pitwall::alert {
namespace {

std::string TimeOfDay(EventTime time) {
  const int64_t seconds = (FloorTo(time, Duration::Seconds(1)) - FloorTo(time, Duration::Days(1))) /
                          Duration::Seconds(1);
  char text[32];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d UTC", static_cast<int>(seconds / 3600),
                static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  return text;
}

}  // namespace

void Recurrence::Begin(Alert& alert, EventTime now) {
  alert.returns.times = 1;
  alert.returns.since = now;
  alert.returns.clear_since = EventTime::Min();
  if (!on()) return;
  const auto before = ends_.find(alert.labels);
  if (before == ends_.end()) return;
  if (now - before->second.at <= within_) {
    alert.returns.times = before->second.times + 1;
    alert.returns.since = before->second.since;
  }
  Forget(alert.labels);
}

bool Recurrence::Holds(Alert& alert, EventTime now) const {
  if (!on() || alert.returns.times < 2) return false;
  alert.step.next_clear_since =
      alert.returns.clear_since == EventTime::Min() ? now : alert.returns.clear_since;
  return now - alert.step.next_clear_since < within_;
}

void Recurrence::Stay(Alert& alert, bool seen) {
  if (seen && alert.returns.clear_since != EventTime::Min()) {
    ++alert.returns.times;
    alert.text.stale = true;
  }
  alert.returns.clear_since = alert.step.next_clear_since;
}

void Recurrence::End(const Alert& alert, EventTime now) {
  if (!on()) return;
  while (!by_age_.empty() && now - by_age_.begin()->first > within_)
    Forget(Labels(by_age_.begin()->second));
  Forget(alert.labels);
  // An unsteady alert has already been clear for the full `unsteady` time, so a later occurrence is
  // independent.
  if (alert.returns.times >= 2) return;
  if (ends_.size() >= kMaxEnds) Forget(Labels(by_age_.begin()->second));
  ends_[alert.labels] = {now, alert.returns.since, alert.returns.times};
  by_age_.emplace(now, alert.labels);
}

void Recurrence::Forget(const Labels& labels) {
  const auto at = ends_.find(labels);
  if (at == ends_.end()) return;
  by_age_.erase({at->second.at, labels});
  ends_.erase(at);
}

void Recurrence::Clear() {
  ends_.clear();
  by_age_.clear();
}

void Recurrence::Reword(const Alert& alert,
                        std::vector<std::pair<std::string, std::string>>* annotations) {
  if (alert.returns.times < 2) return;
  for (auto& [name, text] : *annotations) {
    if (name == "summary")
      text = Cat("Unsteady, ", alert.returns.times, " times since ", TimeOfDay(alert.returns.since),
                 ": ", text);
  }
}

void Recurrence::Save(const std::vector<std::unique_ptr<Alert>>& alerts, BinaryWriter& out) const {
  for (const auto& alert : alerts) {
    out.U64(alert->returns.times);
    out.I64(alert->returns.since.ns());
    out.I64(alert->returns.clear_since.ns());
  }
  out.U64(ends_.size());
  LabelsWriter labels(out);
  for (const auto& [at, of] : by_age_) {
    const Ended& end = ends_.at(of);
    labels.Write(of);
    out.I64(at.ns());
    out.I64(end.since.ns());
    out.U64(end.times);
  }
}

void Recurrence::Restore(const std::vector<std::unique_ptr<Alert>>& alerts, BinaryReader& in) {
  Clear();
  for (const auto& alert : alerts) {
    alert->returns.times = in.U64();
    alert->returns.since = EventTime::FromNs(in.I64());
    alert->returns.clear_since = EventTime::FromNs(in.I64());
  }
  const size_t count = in.Count(4);
  LabelsReader labels(in);
  for (size_t i = 0; i < count && in.ok(); ++i) {
    Ended end;
    Labels of = labels.Read();
    end.at = EventTime::FromNs(in.I64());
    end.since = EventTime::FromNs(in.I64());
    end.times = in.U64();
    by_age_.emplace(end.at, of);
    if (!ends_.emplace(std::move(of), end).second) in.Fail();  // Each label set must be unique.
  }
  if (!in.ok()) Clear();
}

}  // namespace pitwall::alert
