#include "services/history/windows/sketch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "services/model/value.h"

namespace pitwall::history {
namespace {

constexpr double kGamma = 1.01 / 0.99;  // relative error of 1%
// The logarithmic bin of any double is within ±40,000 of 0. Bins of positive values are centered at
// kAbove, and bins of negative values at -kAbove. Ratios use a separate range of numbers.
constexpr int32_t kAbove = 1'000'000;
constexpr int32_t kInfinite = 2'000'000;

int32_t LogBin(double value) {
  static const double log_gamma = std::log(kGamma);
  return static_cast<int32_t>(std::ceil(std::log(value) / log_gamma));
}

}  // namespace

int32_t Sketch::BinOf(double value) const {
  if (std::isinf(value)) return value > 0 ? kInfinite : -kInfinite;
  // Ratios are rounded to the nearest thousandth. Their bins (0 to 1000) sort between the bins of
  // negative values and the bins of larger values.
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

// A series' values often repeat, so the bin is looked up before the logarithm is computed.
void Sketch::AddAll(std::span<const double> values) {
  struct Known {
    uint64_t bits = 0;
    size_t place = SIZE_MAX;  // index in `fresh`
  };
  constexpr size_t kKnown = 64;
  std::array<Known, kKnown> known;
  std::vector<Bin> fresh;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    min_ = count_ == 0 ? value : std::min(min_, value);
    max_ = count_ == 0 ? value : std::max(max_, value);
    ++count_;
    const auto bits = std::bit_cast<uint64_t>(value);
    Known& at = known[(bits * 0x9E3779B97F4A7C15) >> 58];
    if (at.place == SIZE_MAX || at.bits != bits) {
      at = {bits, fresh.size()};
      fresh.push_back({BinOf(value), 0});
    }
    ++fresh[at.place].count;
  }
  std::sort(fresh.begin(), fresh.end(), [](const Bin& a, const Bin& b) { return a.bin < b.bin; });
  size_t kept = 0;
  for (const Bin& bin : fresh) {
    if (kept > 0 && fresh[kept - 1].bin == bin.bin) {
      fresh[kept - 1].count += bin.count;
    } else {
      fresh[kept++] = bin;
    }
  }
  AddBins(std::span(fresh).first(kept));
}

// Existing bins are updated in place. After a few windows, nearly all bins exist.
void Sketch::AddBins(std::span<const Bin> bins) {
  std::vector<Bin> missing;
  size_t at = 0;
  for (const Bin& bin : bins) {
    while (at < bins_.size() && bins_[at].bin < bin.bin) ++at;
    if (at < bins_.size() && bins_[at].bin == bin.bin) {
      bins_[at].count += bin.count;
    } else {
      missing.push_back(bin);
    }
  }
  if (missing.empty()) return;
  std::vector<Bin> both(bins_.size() + missing.size());
  std::merge(bins_.begin(), bins_.end(), missing.begin(), missing.end(), both.begin(),
             [](const Bin& a, const Bin& b) { return a.bin < b.bin; });
  bins_ = std::move(both);
}

void Sketch::Merge(const Sketch& other) {
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = count_ == 0 ? other.max_ : std::max(max_, other.max_);
  count_ += other.count_;
  AddBins(other.bins_);
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
  size_t left = in.Count(2);
  bins_.reserve(left);
  for (; left > 0; --left) {
    bin += in.I64();
    const uint64_t count = in.U64();
    const bool ascends = bins_.empty() || bin > bins_.back().bin;
    if (bin > kInfinite || bin < -kInfinite || !ascends) return in.Fail();
    bins_.push_back({static_cast<int32_t>(bin), count});
    count_ += count;
  }
}

}  // namespace pitwall::history
