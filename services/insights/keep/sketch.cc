#include "services/insights/keep/sketch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "services/model/value.h"

namespace pitwall::insights {
namespace {

constexpr double kGamma = 1.01 / 0.99;  // a relative 1 %
// Bins of logarithms of any double are within ±40,000 of 0: those of values above 0 lie around
// kAbove, of those below 0 around -kAbove, and ratios have numbers of their own.
constexpr int32_t kAbove = 1'000'000;
constexpr int32_t kInfinite = 2'000'000;

int32_t LogBin(double value) {
  static const double log_gamma = std::log(kGamma);
  return static_cast<int32_t>(std::ceil(std::log(value) / log_gamma));
}

}  // namespace

int32_t Sketch::BinOf(double value) const {
  if (std::isinf(value)) return value > 0 ? kInfinite : -kInfinite;
  // 0.0005 and above of a ratio rounds to a thousandth; bins 0 to 1000 lie between the others.
  if (ratio_ && value >= 0 && value <= 1) return static_cast<int32_t>(std::lround(value * 1000));
  if (value == 0) return 0;
  return value > 0 ? kAbove + LogBin(value) : -kAbove - LogBin(-value);
}

double Sketch::ValueOf(int32_t bin) const {
  if (bin == kInfinite || bin == -kInfinite) return bin > 0 ? INFINITY : -INFINITY;
  if (ratio_ && bin >= 0 && bin <= 1000) return bin / 1000.0;
  if (bin == 0) return 0;
  const int32_t power = bin > 0 ? bin - kAbove : -bin - kAbove;
  const double value = 2 * std::pow(kGamma, power) / (kGamma + 1);
  return bin > 0 ? value : -value;
}

// Values of a series repeat: where one leads is looked up before logarithm and map are asked.
void Sketch::AddAll(std::span<const double> values) {
  struct Known {
    uint64_t bits = 0;
    uint64_t* count = nullptr;
  };
  constexpr size_t kKnown = 64;
  std::array<Known, kKnown> known;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    min_ = count_ == 0 ? value : std::min(min_, value);
    max_ = count_ == 0 ? value : std::max(max_, value);
    ++count_;
    const auto bits = std::bit_cast<uint64_t>(value);
    Known& at = known[(bits * 0x9E3779B97F4A7C15) >> 58];
    if (at.count == nullptr || at.bits != bits) at = {bits, &bins_[BinOf(value)]};
    ++*at.count;
  }
}

void Sketch::Merge(const Sketch& other) {
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
  for (const auto& [bin, count] : other.bins_) bins_[bin] += count;
}

double Sketch::Quantile(double q) const {
  if (count_ == 0) return NormalNan();
  const auto rank = static_cast<uint64_t>(q * static_cast<double>(count_ - 1));
  uint64_t below = 0;
  for (const auto& [bin, count] : bins_) {
    below += count;
    if (below > rank) return std::clamp(ValueOf(bin), min_, max_);
  }
  return max_;
}

void Sketch::Save(BinaryWriter& out) const {
  out.Bool(ratio_);
  out.Double(min_);
  out.Double(max_);
  out.U64(bins_.size());
  int32_t before = 0;
  for (const auto& [bin, count] : bins_) {
    out.I64(bin - before);
    out.U64(count);
    before = bin;
  }
}

void Sketch::Restore(BinaryReader& in) {
  ratio_ = in.Bool();
  min_ = in.Double();
  max_ = in.Double();
  bins_.clear();
  count_ = 0;
  int64_t bin = 0;
  for (size_t left = in.Count(2); left > 0; --left) {
    bin += in.I64();
    const uint64_t count = in.U64();
    if (bin > kInfinite || bin < -kInfinite) return in.Fail();
    bins_[static_cast<int32_t>(bin)] += count;
    count_ += count;
  }
}

}  // namespace pitwall::insights
