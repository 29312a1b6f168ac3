#include "rules/alert/recurrence.h"

#include <algorithm>
#include <cstdio>

#include "rules/alert/alert_record.h"
#include "services/base/clock.h"
#include "services/base/strings.h"

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
  alert.times = 1;
  alert.since_ns = now_ns;
  alert.clear_since_ns = kNever;
  if (!on()) return;
  const auto before = std::find_if(ends_.begin(), ends_.end(),
                                   [&](const Ended& end) { return end.labels == alert.labels; });
  if (before == ends_.end()) return;
  if (now_ns - before->at_ns <= within_ns_) {
    alert.times = before->times + 1;
    alert.since_ns = before->since_ns;
  }
  ends_.erase(before);
}

bool Recurrence::Holds(Alert& alert, int64_t now_ns) const {
  if (!on() || alert.times < 2) return false;
  alert.next_clear_since_ns = alert.clear_since_ns == kNever ? now_ns : alert.clear_since_ns;
  return now_ns - alert.next_clear_since_ns < within_ns_;
}

void Recurrence::Stay(Alert& alert, bool seen) {
  if (seen && alert.clear_since_ns != kNever) {
    ++alert.times;
    alert.text_stale = true;
  }
  alert.clear_since_ns = alert.next_clear_since_ns;
}

void Recurrence::End(const Alert& alert, int64_t now_ns) {
  if (!on()) return;
  std::erase_if(ends_, [&](const Ended& end) {
    return now_ns - end.at_ns > within_ns_ || end.labels == alert.labels;
  });
  // An unsteady one has been clear for the whole time: what follows is another matter.
  if (alert.times >= 2) return;
  if (ends_.size() >= kMaxEnds) ends_.erase(ends_.begin());
  ends_.push_back({alert.labels, now_ns, alert.since_ns, alert.times});
}

void Recurrence::Reword(const Alert& alert,
                        std::vector<std::pair<std::string, std::string>>* annotations) {
  if (alert.times < 2) return;
  for (auto& [name, text] : *annotations) {
    if (name == "summary")
      text = Cat("Unsteady, ", alert.times, " times since ", TimeOfDay(alert.since_ns), ": ", text);
  }
}

void Recurrence::Save(const std::vector<std::unique_ptr<Alert>>& alerts, BinaryWriter& out) const {
  for (const auto& alert : alerts) {
    out.U64(alert->times);
    out.I64(alert->since_ns);
    out.I64(alert->clear_since_ns);
  }
  out.U64(ends_.size());
  LabelsWriter labels(out);
  for (const Ended& end : ends_) {
    labels.Write(end.labels);
    out.I64(end.at_ns);
    out.I64(end.since_ns);
    out.U64(end.times);
  }
}

void Recurrence::Restore(const std::vector<std::unique_ptr<Alert>>& alerts, BinaryReader& in) {
  ends_.clear();
  for (const auto& alert : alerts) {
    alert->times = in.U64();
    alert->since_ns = in.I64();
    alert->clear_since_ns = in.I64();
  }
  const size_t count = in.Count(4);
  LabelsReader labels(in);
  for (size_t i = 0; i < count && in.ok(); ++i) {
    Ended end;
    end.labels = labels.Read();
    end.at_ns = in.I64();
    end.since_ns = in.I64();
    end.times = in.U64();
    ends_.push_back(std::move(end));
  }
  if (!in.ok()) ends_.clear();
}

}  // namespace pitwall::alert
