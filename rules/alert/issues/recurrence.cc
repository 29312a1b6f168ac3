#include "rules/alert/issues/recurrence.h"

#include <algorithm>
#include <cstdio>

#include "rules/alert/alert_record.h"
#include "services/base/clock.h"
#include "services/base/text/strings.h"

namespace pitwall::alert {
namespace {

std::string TimeOfDay(int64_t time_ns) {
  const int64_t seconds = FloorTo(time_ns, kNanosPerSecond) / kNanosPerSecond -
                          FloorTo(time_ns, 86'400 * kNanosPerSecond) / kNanosPerSecond;
  char text[32];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d UTC", static_cast<int>(seconds / 3600),
                static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  return text;
}

}  // namespace

void Recurrence::Begin(Alert& alert, int64_t now_ns) {
  alert.returns.times = 1;
  alert.returns.since_ns = now_ns;
  alert.returns.clear_since_ns = kNever;
  if (!on()) return;
  const auto before = ends_.find(alert.labels);
  if (before == ends_.end()) return;
  if (now_ns - before->second.at_ns <= within_ns_) {
    alert.returns.times = before->second.times + 1;
    alert.returns.since_ns = before->second.since_ns;
  }
  Forget(alert.labels);
}

bool Recurrence::Holds(Alert& alert, int64_t now_ns) const {
  if (!on() || alert.returns.times < 2) return false;
  alert.step.next_clear_since_ns =
      alert.returns.clear_since_ns == kNever ? now_ns : alert.returns.clear_since_ns;
  return now_ns - alert.step.next_clear_since_ns < within_ns_;
}

void Recurrence::Stay(Alert& alert, bool seen) {
  if (seen && alert.returns.clear_since_ns != kNever) {
    ++alert.returns.times;
    alert.text.stale = true;
  }
  alert.returns.clear_since_ns = alert.step.next_clear_since_ns;
}

void Recurrence::End(const Alert& alert, int64_t now_ns) {
  if (!on()) return;
  while (!by_age_.empty() && now_ns - by_age_.begin()->first > within_ns_)
    Forget(Labels(by_age_.begin()->second));
  Forget(alert.labels);
  // An unsteady alert has already been clear for the full `unsteady` time, so a later occurrence is
  // independent.
  if (alert.returns.times >= 2) return;
  if (ends_.size() >= kMaxEnds) Forget(Labels(by_age_.begin()->second));
  ends_[alert.labels] = {now_ns, alert.returns.since_ns, alert.returns.times};
  by_age_.emplace(now_ns, alert.labels);
}

void Recurrence::Forget(const Labels& labels) {
  const auto at = ends_.find(labels);
  if (at == ends_.end()) return;
  by_age_.erase({at->second.at_ns, labels});
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
      text = Cat("Unsteady, ", alert.returns.times, " times since ",
                 TimeOfDay(alert.returns.since_ns), ": ", text);
  }
}

void Recurrence::Save(const std::vector<std::unique_ptr<Alert>>& alerts, BinaryWriter& out) const {
  for (const auto& alert : alerts) {
    out.U64(alert->returns.times);
    out.I64(alert->returns.since_ns);
    out.I64(alert->returns.clear_since_ns);
  }
  out.U64(ends_.size());
  LabelsWriter labels(out);
  for (const auto& [at_ns, of] : by_age_) {
    const Ended& end = ends_.at(of);
    labels.Write(of);
    out.I64(at_ns);
    out.I64(end.since_ns);
    out.U64(end.times);
  }
}

void Recurrence::Restore(const std::vector<std::unique_ptr<Alert>>& alerts, BinaryReader& in) {
  Clear();
  for (const auto& alert : alerts) {
    alert->returns.times = in.U64();
    alert->returns.since_ns = in.I64();
    alert->returns.clear_since_ns = in.I64();
  }
  const size_t count = in.Count(4);
  LabelsReader labels(in);
  for (size_t i = 0; i < count && in.ok(); ++i) {
    Ended end;
    Labels of = labels.Read();
    end.at_ns = in.I64();
    end.since_ns = in.I64();
    end.times = in.U64();
    by_age_.emplace(end.at_ns, of);
    if (!ends_.emplace(std::move(of), end).second) in.Fail();  // Each label set must be unique.
  }
  if (!in.ok()) Clear();
}

}  // namespace pitwall::alert
