#include "services/window/tracks/prefix_track.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "services/base/check.h"
#include "services/model/value.h"
#include "services/window/tracks/sample_track.h"

namespace pitwall::window {

void PrefixTrack::AddDemand(const Demand& demand) {
  for (const Answer& answer : answers_) {
    if (answer.function == demand.function && answer.text == demand.arguments) return;
  }
  answers_.push_back({demand.function, demand.arguments, {}, {}, {}, 1});
  answers_.back().Resize(columns_.size());
}

void PrefixTrack::SetColumns(size_t columns) {
  if (columns <= columns_.size()) return;
  columns_.resize(columns);
  for (Answer& answer : answers_) answer.Resize(columns);
}

void PrefixTrack::Scatter(Position position, std::span<const uint32_t> cells,
                          std::span<const uint32_t> columns, const double* values) {
  if (position <= after_) return;
  for (size_t i = 0; i < cells.size(); ++i) {
    Column& column = columns_[columns[i]];
    const double value = values[cells[i]];
    if (column.values.size() == count_ || std::isnan(value)) continue;
    if (column.skipped < skip_) {
      ++column.skipped;
      continue;
    }
    column.positions.push_back(position.ns());
    column.values.push_back(value);
  }
}

PrefixTrack::Answer& PrefixTrack::AnswerOf(const Demand& demand,
                                           std::span<const double> arguments) {
  const auto found = std::find_if(answers_.begin(), answers_.end(), [&](const Answer& answer) {
    return answer.function == demand.function && answer.text == demand.arguments;
  });
  PITWALL_CHECK(found != answers_.end());  // AddDemand must have been called with this demand
  const auto same = [](double a, double b) {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
  };
  if (!std::equal(arguments.begin(), arguments.end(), found->arguments.begin(),
                  found->arguments.end(), same)) {
    found->arguments.assign(arguments.begin(), arguments.end());
    found->width = ValuesPerSeries(demand.function, arguments.size());
    found->Forget(columns_.size());
  }
  return *found;
}

void PrefixTrack::Read(const Demand& demand, Position tick, Position /*after*/,
                       std::span<const double> arguments, double* values, uint8_t* present) {
  const Position end = tick - Duration::Nanos(demand.offset);
  Answer& answer = AnswerOf(demand, arguments);
  // An intercept depends on the tick, so it keeps changing even for a full window.
  const bool frozen = demand.function != WindowFunction::kIntercept;
  const size_t width = answer.width;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    present[c] = 0;
    if (!IsFull(column, end)) continue;
    if (answer.known[c] == Known::kNot || !frozen) {
      double* const kept = answer.values.data() + c * width;
      const bool any =
          ValueOfSamples(demand.function, column.positions, column.values,
                         Position::FromNs(column.positions.front()),
                         Position::FromNs(column.positions.back()), tick, arguments, kept);
      answer.known[c] = any ? Known::kValue : Known::kNone;
      for (size_t k = 0; k < width; ++k) kept[k] = std::isnan(kept[k]) ? NormalNan() : kept[k];
    }
    std::copy_n(answer.values.data() + c * width, width, values + c * width);
    present[c] = answer.known[c] == Known::kValue ? 1 : 0;
  }
}

std::optional<PrefixProgress> PrefixTrack::Filling(const Demand& demand, Position tick) const {
  PrefixProgress level{.has = 0, .wants = skip_ + count_};
  for (const Column& column : columns_) {
    if (IsFull(column, tick - Duration::Nanos(demand.offset))) return std::nullopt;
    level.has = std::max(level.has, column.skipped + static_cast<int64_t>(column.values.size()));
  }
  return level;
}

void PrefixTrack::ForgetAnswers() {
  for (Answer& answer : answers_) answer.Forget(columns_.size());
}

void PrefixTrack::Remap(const std::vector<uint32_t>& keep) {
  KeepColumns(keep, &columns_);
  ForgetAnswers();
}

void PrefixTrack::Restart(Position after) {
  after_ = after;
  for (Column& column : columns_) column = Column();
  ForgetAnswers();
}

void PrefixTrack::Save(BinaryWriter& out) const {
  out.I64(after_.ns());
  out.U64(columns_.size());
  for (const Column& column : columns_) {
    out.I64(column.skipped);
    out.I64s(column.positions);
    out.Doubles(column.values);
  }
}

void PrefixTrack::Load(BinaryReader& in, size_t columns) {
  after_ = Position::FromNs(in.I64());
  LoadColumnCount(in, 3, columns, &columns_);
  for (size_t c = 0; c < columns_.size() && in.ok(); ++c) {
    Column& column = columns_[c];
    column.skipped = in.I64();
    column.positions = in.I64s();
    column.values = in.Doubles();
    const bool ascending = std::adjacent_find(column.positions.begin(), column.positions.end(),
                                              std::greater_equal<>()) == column.positions.end();
    if (column.skipped < 0 || column.skipped > skip_ || column.values.size() > count_ ||
        column.positions.size() != column.values.size() || !ascending) {
      in.Fail();
    }
  }
  ForgetAnswers();
}

size_t PrefixTrack::MemoryBytes() const {
  size_t bytes = columns_.capacity() * sizeof(Column);
  for (const Column& column : columns_) {
    bytes +=
        column.positions.capacity() * sizeof(int64_t) + column.values.capacity() * sizeof(double);
  }
  for (const Answer& answer : answers_) bytes += answer.values.capacity() * (sizeof(double) + 1);
  return bytes;
}

}  // namespace pitwall::window
