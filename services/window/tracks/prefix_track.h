// The first samples of an attempt, for each series of one selector. The windows freeze once they
// are full, and a frozen window's values are computed only once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/windows/demand.h"
#include "services/window/tracks/series_track.h"

namespace pitwall::window {

class PrefixTrack final : public SeriesTrack {
 public:
  // The window contains `count` samples after `skip` skipped samples. NaN and stale markers do not
  // count.
  PrefixTrack(uint32_t count, int64_t skip, Position after)
      : count_(count), skip_(skip), after_(after) {}

  void ForgetDemands() override { answers_.clear(); }
  void AddDemand(const Demand& demand) override;

  void SetColumns(size_t columns) override;
  void Scatter(Position position, std::span<const uint32_t> cells,
               std::span<const uint32_t> columns, const double* values) override;
  // Columns whose window is not full have no result.
  void Read(const Demand& demand, Position tick, Position after, std::span<const double> arguments,
            double* values, uint8_t* present) override;
  bool incomplete() const override { return false; }
  std::optional<PrefixProgress> Filling(const Demand& demand, Position tick) const override;

  void Remap(const std::vector<uint32_t>& keep) override;
  void Restart(Position after) override;

  void Save(BinaryWriter& out) const override;
  void Load(BinaryReader& in, size_t columns) override;
  size_t MemoryBytes() const override;

 private:
  struct Column {
    int64_t skipped = 0;
    std::vector<int64_t> positions;
    std::vector<double> values;
  };
  enum class Known : uint8_t { kNot, kValue, kNone };
  // Cached results of one function over the full columns. They can be recomputed and are therefore
  // not saved.
  struct Answer {
    WindowFunction function;
    std::string text;               // Demand::arguments
    std::vector<double> arguments;  // parsed arguments
    std::vector<double> values;     // `width` values per column
    std::vector<Known> known;       // one per column
    size_t width = 1;

    void Resize(size_t columns) {
      values.resize(columns * width);
      known.resize(columns, Known::kNot);
    }
    void Forget(size_t columns) {
      values.assign(columns * width, 0);
      known.assign(columns, Known::kNot);
    }
  };

  bool IsFull(const Column& column, Position end) const {
    return column.values.size() == count_ && column.positions.back() <= end.ns();
  }
  Answer& AnswerOf(const Demand& demand, std::span<const double> arguments);
  void ForgetAnswers();

  const uint32_t count_;
  const int64_t skip_;
  Position after_;
  std::vector<Column> columns_;
  std::vector<Answer> answers_;
};

}  // namespace pitwall::window
