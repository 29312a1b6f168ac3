#include "services/window/tracks/average_rescue.h"

#include <cmath>
#include <vector>

#include "services/model/value.h"

namespace pitwall::window {
namespace {

// Compensated sum of one column in which all terms are scaled by kHugeScale.
struct ScaledSum {
  size_t column;
  double sum = 0, comp = 0, count = 0;

  void Add(double x) {
    const double t = sum + x;
    const double part = t - sum;
    const double error = (sum - (t - part)) + (x - part);
    comp = std::isfinite(comp + error) ? comp + error : 0;
    sum = t;
  }
  void AddSample(double x) {
    if (IsMissing(x)) return;
    Add(x * kHugeScale);
    count += 1;
  }
  // Adds the partials of a kSums row, with each term multiplied by `scale`.
  void AddPartial(const Row& sums, size_t capacity, double scale) {
    const double* cells = sums.cells() + column;
    Add(cells[0] * scale);
    Add(cells[capacity] * scale);
    count += cells[2 * capacity];
  }
  double Average() const { return (sum / count + comp / count) / kHugeScale; }
};

}  // namespace

void RescueAverages(const SlidingWindow& window, size_t sums_index, PaneSource& source,
                    double* values, const uint8_t* present) {
  if (window.panes() == 0) return;
  std::vector<ScaledSum> scaled;
  for (size_t i = 0; i < source.columns(); ++i) {
    if (present[i] && !std::isfinite(values[i])) scaled.push_back({i});
  }
  if (scaled.empty()) return;
  const size_t capacity = source.pool().capacity();
  for (PaneIndex k = window.cursor() - window.panes() + 1; k <= window.cursor(); ++k) {
    const Pane& pane = source.At(k);
    if (pane.form == PaneForm::kSingle) {
      for (ScaledSum& s : scaled) s.AddSample(pane.values.cells()[s.column]);
    } else if (pane.form == PaneForm::kDeep) {
      const double scale = pane.deep->scaled ? 1 : kHugeScale;
      const Row& sums = pane.deep->scaled ? pane.deep->scaled : pane.deep->partials[sums_index];
      if (!sums) continue;
      for (ScaledSum& s : scaled) s.AddPartial(sums, capacity, scale);
    }
  }
  for (const ScaledSum& s : scaled) values[s.column] = s.Average();
}

}  // namespace pitwall::window
