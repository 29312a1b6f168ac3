#include "services/window/ordered/ordered_window.h"

#include "services/model/value.h"
#include "services/model/windows/pane_grid.h"
#include "services/window/functions/order_statistics.h"

namespace pitwall::window {
namespace {

// Calls use(column, value) for each sample of the pane.
template <typename Use>
void ForEachSample(const Pane& pane, size_t columns, Use use) {
  if (pane.form == PaneForm::kEmpty) return;
  const auto row = [&](const Row& samples) {
    const double* cells = samples.cells();
    for (size_t i = 0; i < columns; ++i) {
      if (!IsMissing(cells[i])) use(i, cells[i]);
    }
  };
  if (pane.form == PaneForm::kSingle) row(pane.values);
  if (pane.form != PaneForm::kDeep) return;
  for (const Row& samples : pane.deep->samples) row(samples);
  for (const Extra& extra : pane.deep->extras) use(extra.column, extra.value);
}

}  // namespace

void OrderedWindow::Start(PaneIndex cursor) {
  cursor_ = cursor;
  leaving_ = entered_ = false;
  columns_.Clear(cursor);
}

bool OrderedWindow::Exchange(const Pane* leaving, const Pane& entering, const Answer* answer) {
  const size_t n = columns_.size();
  if (leaving != nullptr && leaving->form == PaneForm::kSingle &&
      entering.form == PaneForm::kSingle) {
    const double* old_cells = leaving->values.cells();
    const double* new_cells = entering.values.cells();
    for (size_t i = 0; i < n; ++i) {
      columns_.Exchange(i, old_cells[i], new_cells[i]);
      if (answer != nullptr) Give(i, *answer);
    }
    return answer != nullptr;
  }
  if (leaving != nullptr) {
    ForEachSample(*leaving, n, [&](size_t i, double value) { columns_.Remove(i, value); });
  }
  ForEachSample(entering, n, [&](size_t i, double value) { columns_.Insert(i, value); });
  if (entering.deep) {
    for (const uint32_t i : entering.deep->dropped) columns_.Overflow(i);
  }
  return false;
}

bool OrderedWindow::Sync(PaneSource& source, const Answer* answer) {
  bool answered = false;
  columns_.Resize(source.columns());
  const Pane& pane = source.At(cursor_);
  if (!entered_) {
    answered = Exchange(leaving_ ? &source.At(cursor_ - panes_) : nullptr, pane, answer);
    leaving_ = false;
    entered_ = true;
    version_ = pane.version;
  } else if (version_ != pane.version) {
    // This case is rare: a sample was recorded after a read at the same tick.
    Rebuild(source, cursor_);
    Exchange(nullptr, pane, nullptr);
    entered_ = true;
    version_ = pane.version;
  }
  if (AnyOverflow() && retried_ != cursor_ && FloorMod(cursor_, panes_) == 0) {
    RetryOverflows(source);
    answered = false;  // some columns may have a result again
  }
  return answered;
}

void OrderedWindow::Advance(PaneSource& source) {
  Sync(source, nullptr);
  ++cursor_;
  leaving_ = true;
  entered_ = false;
  columns_.ForgetUnread(cursor_);
}

void OrderedWindow::Fill(PaneSource& source, PaneIndex first, PaneIndex last,
                         const std::vector<uint8_t>* only) {
  const auto wanted = [only](size_t column) { return only == nullptr || (*only)[column] != 0; };
  for (PaneIndex k = first; k <= last; ++k) {
    const Pane& pane = source.At(k);
    ForEachSample(pane, columns_.size(), [&](size_t i, double value) {
      if (!columns_.overflowed().Has(i) && wanted(i)) columns_.Append(i, value);
    });
    if (pane.deep == nullptr) continue;
    for (const uint32_t i : pane.deep->dropped) {
      if (wanted(i)) columns_.Overflow(i);
    }
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (wanted(i)) columns_.Sort(i);
  }
}

void OrderedWindow::Rebuild(PaneSource& source, PaneIndex cursor) {
  columns_.Resize(source.columns());
  Start(cursor);
  Fill(source, cursor - panes_ + 1, cursor - 1, nullptr);
}

void OrderedWindow::RetryOverflows(PaneSource& source) {
  retried_ = cursor_;
  const std::vector<uint8_t> again = columns_.ForgetOverflows();
  Fill(source, cursor_ - panes_ + 1, cursor_, &again);
}

void OrderedWindow::Give(size_t i, const Answer& answer) {
  const uint32_t count = columns_.count(i);
  answer.present[i] = count > 0 ? 1 : 0;
  answer.values[i] = 0;
  if (count > 0 && !answer.tracker->Get(i, count, &answer.values[i])) scan_.Add(i);
}

void OrderedWindow::ReadSorted(double phi, double* values, uint8_t* present) const {
  const bool inside = phi >= 0 && phi <= 1;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const uint32_t count = columns_.count(i);
    present[i] = count > 0 ? 1 : 0;
    values[i] = QuantileOutside(phi);
    if (!inside || count == 0) continue;
    const Rank rank(phi, count);
    values[i] = rank.Between(columns_.keys(i)[rank.below], columns_.keys(i)[rank.above]);
  }
}

void OrderedWindow::Read(PaneSource& source, double phi, double* values, uint8_t* present) {
  columns_.Resize(source.columns());
  if (columns_.sorting() || !(phi >= 0 && phi <= 1)) {
    Sync(source, nullptr);
    ReadSorted(phi, values, present);
    return;
  }
  const Answer answer{&columns_.TrackerOf(phi, cursor_), values, present};
  // One pass adds the new samples and computes the results, while each column is in the cache.
  if (!Sync(source, &answer)) {
    scan_.Clear();
    for (size_t i = 0; i < columns_.size(); ++i) Give(i, answer);
  }
  scan_.Run(source, cursor_ - panes_ + 1, cursor_, columns_, *answer.tracker, values);
}

void OrderedWindow::ReadMad(PaneSource& source, double* values, uint8_t* present) {
  if (!columns_.sorting()) {
    columns_.BeginSorting();
    Rebuild(source, cursor_);
  }
  Sync(source, nullptr);
  for (size_t i = 0; i < columns_.size(); ++i) {
    present[i] = columns_.count(i) > 0 ? 1 : 0;
    values[i] = present[i] != 0 ? MadOfSorted(columns_.keys(i), &deviations_) : 0;
  }
}

void OrderedWindow::Save(BinaryWriter& out) const {
  out.I64(retried_.value());
  columns_.overflowed().Save(out);
}

void OrderedWindow::Load(BinaryReader& in, size_t columns) {
  retried_ = PaneIndex(in.I64());
  columns_.Load(in, columns);
}

}  // namespace pitwall::window
