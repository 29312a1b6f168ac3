#include "services/history/views/steps/step_matrix.h"

#include <algorithm>
#include <cmath>

#include "services/base/text/strings.h"
#include "services/model/value.h"

namespace pitwall::history {

Status TooManyStepCells() {
  return ResourceExhausted(Cat("cells: the number of steps times ranks exceeds ", kMaxStepCells,
                               "; specify a range of steps"));
}

Status StepMatrix::Add(const RankSteps& of_rank) {
  std::vector<double>& cells = ranks_[of_rank.rank];
  size_t row = 0;  // usually the next row, because all ranks run the same steps in order
  for (size_t i = 0; i < of_rank.steps.size(); ++i) {
    const int64_t step = of_rank.steps[i];
    if (step == kNoStep || !std::isfinite(of_rank.seconds[i])) continue;
    if (row >= steps_.size() || steps_[row] != step) row = RowOf(step);
    if (row >= cells.size()) RETURN_IF_ERROR(Grow(row + 1, &cells));
    cells[row] = of_rank.seconds[i];
    ++row;
  }
  return OkStatus();
}

Status StepMatrix::AddStep(int64_t step, std::span<const int64_t> ranks,
                           std::span<const double> seconds) {
  size_t row = SIZE_MAX;
  auto at = ranks_.begin();
  for (size_t r = 0; r < ranks.size(); ++r) {
    if (!std::isfinite(seconds[r])) continue;
    while (at != ranks_.end() && at->first < ranks[r]) ++at;
    if (at == ranks_.end() || at->first != ranks[r]) at = ranks_.try_emplace(at, ranks[r]);
    if (row == SIZE_MAX) row = RowOf(step);
    if (row >= at->second.size()) RETURN_IF_ERROR(Grow(row + 1, &at->second));
    at->second[row] = seconds[r];
  }
  return OkStatus();
}

std::vector<std::pair<int64_t, size_t>> StepMatrix::Steps() const {
  std::vector<std::pair<int64_t, size_t>> out;
  out.reserve(steps_.size());
  for (size_t row = 0; row < steps_.size(); ++row) out.emplace_back(steps_[row], row);
  std::sort(out.begin(), out.end());
  return out;
}

size_t StepMatrix::RowOf(int64_t step) {
  const auto [at, added] = rows_.try_emplace(step, steps_.size());
  if (added) steps_.push_back(step);
  return at->second;
}

Status StepMatrix::Grow(size_t rows, std::vector<double>* cells) {
  cells_ += rows - cells->size();
  if (cells_ > kMaxStepCells) return TooManyStepCells();
  if (rows > cells->capacity()) cells->reserve(std::max(rows, steps_.size()));
  cells->resize(rows, NormalNan());
  return OkStatus();
}

}  // namespace pitwall::history
