#include "rules/alert/element_matcher.h"

#include <algorithm>
#include <utility>

#include "rules/alert/alert_labels.h"
#include "rules/alert/present_elements.h"

namespace pitwall::alert {

Status ElementMatcher::Match(const AlertInput& input, const AlertTemplates& templates,
                             const AlertOptions& options, AlertTable* alerts) {
  const eval::Vector& expr = *input.expr;
  ++serial_;
  fresh_.clear();
  alerts->Bind(expr.column);
  const std::span<Alert* const> by_place = alerts->by_place();
  const bool labels_vary = templates.rule().labels_vary();
  Status status;
  AlertLabelBytes bytes(options.max_label_bytes);
  size_t next = 0;  // Index in by_place.
  ForPresent(expr.present, [&](size_t i) {
    Alert* alert = nullptr;
    while (next < by_place.size() && by_place[next]->place < static_cast<int64_t>(i)) ++next;
    if (!labels_vary && next < by_place.size() &&
        by_place[next]->place == static_cast<int64_t>(i)) {
      alert = by_place[next];
    } else {
      Labels labels = templates.LabelsOf(expr.labels(i), expr.values[i], input.at);
      alert = alerts->Find(labels);
      if (alert == nullptr) {
        bytes.Add(labels);
        fresh_.push_back({std::move(labels), static_cast<uint32_t>(i)});
        // Above the limit, the remaining elements do not matter.
        return fresh_.size() <= options.max_alerts && !bytes.exceeded();
      }
    }
    if (Saw(*alert)) {
      status = DuplicateAlertLabels();
      return false;
    }
    alert->step.seen = serial_;
    alert->step.seen_at = static_cast<uint32_t>(i);
    return true;
  });
  RETURN_IF_ERROR(status);
  std::sort(fresh_.begin(), fresh_.end(),
            [](const Fresh& a, const Fresh& b) { return a.labels < b.labels; });
  for (size_t k = 1; k < fresh_.size(); ++k) {
    if (fresh_[k].labels == fresh_[k - 1].labels) return DuplicateAlertLabels();
  }
  return OkStatus();
}

}  // namespace pitwall::alert
