#include "services/codec/blocks/prediction.h"

#include <algorithm>
#include <array>
#include <bit>

#include "services/base/text/strings.h"
#include "services/base/wrapping.h"
#include "services/codec/blocks/bit_stream.h"
#include "services/codec/blocks/varint.h"

namespace pitwall::blocks {
namespace {

constexpr size_t kRun = 64;
constexpr int kMostZeros = 20;
constexpr size_t kTrialEntries = 256;  // number of entries used to choose `order` and `turn`
constexpr size_t kHeadBytes = 2;

// Predicted value for each position in a turn. Each entry moves its prediction halfway toward the
// entry's value.
class Expectation {
 public:
  explicit Expectation(size_t turn) : turn_(turn) {}
  int64_t now() const { return means_[at_]; }
  // `off` is the difference between the entry and now().
  void Next(int64_t off) {
    if (turn_ == 0) return;
    means_[at_] = Plus(means_[at_], known_ ? off / 2 : off);
    if (++at_ < turn_) return;
    at_ = 0;
    known_ = true;
  }

 private:
  const size_t turn_;
  size_t at_ = 0;
  bool known_ = false;
  std::array<int64_t, kMostTurn> means_ = {};
};

// Calls `take` with each entry's prediction error.
template <typename Take>
void ForEachOff(std::span<const int64_t> entries, int order, size_t turn, Take take) {
  Expectation expected(turn);
  int64_t before = 0;
  for (const int64_t entry : entries) {
    const int64_t given = order == 0 ? entry : Minus(entry, before);
    const int64_t off = Minus(given, expected.now());
    before = entry;
    expected.Next(off);
    take(Zigzag(off));
  }
}

size_t BitsOf(std::span<const uint64_t> run, int k) {
  size_t bits = 0;
  for (const uint64_t v : run) {
    const uint64_t zeros = v >> k;
    bits += zeros < kMostZeros ? static_cast<size_t>(zeros) + 1 + static_cast<size_t>(k)
                               : size_t{kMostZeros} + 64;
  }
  return bits;
}

// Returns the Rice parameter k that encodes a run in the fewest bits. It is close to the median bit
// width.
int BestOf(std::span<const uint64_t> run) {
  std::array<uint64_t, kRun> sorted;
  std::copy(run.begin(), run.end(), sorted.begin());
  const auto end = sorted.begin() + static_cast<ptrdiff_t>(run.size());
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>(run.size() / 2);
  std::nth_element(sorted.begin(), middle, end);
  const int width = std::bit_width(*middle);
  int best = 0;
  size_t least = SIZE_MAX;
  for (int k = std::max(0, width - 2); k <= std::min(63, width + 1); ++k) {
    const size_t bits = BitsOf(run, k);
    if (bits >= least) continue;
    least = bits;
    best = k;
  }
  return best;
}

}  // namespace

void WriteExpected(std::span<const int64_t> entries, std::string* out) {
  const auto trial = entries.first(std::min(entries.size(), kTrialEntries));
  int order = 0;
  size_t turn = 1, least = SIZE_MAX;
  for (int o = 0; o <= 1; ++o) {
    for (size_t t = 0; t <= kMostTurn; ++t) {
      size_t bits = 0;
      size_t left = 2 * kMostTurn;  // entries encoded without a prediction
      ForEachOff(trial, o, t, [&](uint64_t off) {
        if (left > 0) {
          --left;
        } else {
          bits += static_cast<size_t>(std::bit_width(off)) + 1;
        }
      });
      if (bits >= least) continue;
      least = bits;
      order = o;
      turn = t;
    }
  }
  out->push_back(static_cast<char>(order));
  out->push_back(static_cast<char>(turn));
  BitWriter to(out);
  std::array<uint64_t, kRun> run;
  size_t count = 0;
  const auto flush = [&] {
    const std::span<const uint64_t> given(run.data(), count);
    const int k = BestOf(given);
    to.Put(static_cast<uint64_t>(k), 6);
    for (const uint64_t off : given) {
      const uint64_t zeros = off >> k;
      if (zeros >= kMostZeros) {
        to.Put(0, kMostZeros);
        to.Put(off, 64);
        continue;
      }
      to.Put(1, static_cast<int>(zeros) + 1);
      to.Put(off & ((uint64_t{1} << k) - 1), k);
    }
    count = 0;
  };
  ForEachOff(entries, order, turn, [&](uint64_t off) {
    run[count++] = off;
    if (count == kRun) flush();
  });
  if (count > 0) flush();
  to.Finish();
}

Status ReadExpected(std::string_view body, std::span<int64_t> to) {
  const auto order = body.size() < kHeadBytes ? 2 : static_cast<uint8_t>(body[0]);
  const size_t turn = body.size() < kHeadBytes ? 0 : static_cast<uint8_t>(body[1]);
  if (order > 1 || turn > kMostTurn)
    return DataLoss(Cat("integers: order ", order, " or turn ", turn, " is out of range"));
  BitReader bits(body.substr(kHeadBytes));
  Expectation expected(turn);
  int64_t before = 0;
  int k = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    if (i % kRun == 0) k = static_cast<int>(bits.Get(6));
    const uint64_t next = bits.Peek();
    const int zeros = next == 0 ? kMostZeros : std::min(std::countl_zero(next), kMostZeros);
    uint64_t off = 0;
    if (zeros == kMostZeros) {
      bits.Skip(kMostZeros);
      off = bits.Get(64);
    } else {
      bits.Skip(zeros + 1);
      off = static_cast<uint64_t>(zeros) << k | bits.Get(k);
    }
    if (bits.past_end())
      return DataLoss(Cat("integers: truncated in entry ", i, " of ", to.size()));
    const int64_t distance = Unzigzag(off);
    const int64_t given = Plus(distance, expected.now());
    expected.Next(distance);
    before = order == 0 ? given : Plus(before, given);
    to[i] = before;
  }
  if (!bits.AtEnd()) return DataLoss("integers: unexpected trailing bits");
  return OkStatus();
}

}  // namespace pitwall::blocks
