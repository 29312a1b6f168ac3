#include "services/window/panes/cell_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "services/model/value.h"

namespace pitwall::window {
namespace {

constexpr CellKind kKinds[] = {CellKind::kValue, CellKind::kPosition};
const uint64_t kBlank = std::bit_cast<uint64_t>(MissingValue());

std::vector<uint8_t> Encode(const std::vector<uint64_t>& cells, CellKind kind) {
  std::vector<uint8_t> code;
  EncodeCells(cells, kBlank, kind, &code);
  return code;
}

TEST(CellCodec, AnyCellsRoundTrip) {
  std::mt19937_64 random(7);
  SCOPED_TRACE("seed 7");
  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint64_t> cells(random() % (kMaxCodedCells + 1));
    const uint64_t shape = random() % 6;
    uint64_t last = random();
    for (uint64_t& cell : cells) {
      if (shape == 0) last = random();
      if (shape == 1) last += 15'000'000'000;
      if (shape == 2) last += 15'000'000'000 + random() % 1000;
      if (shape == 3) last = std::bit_cast<uint64_t>(static_cast<double>(random() % 100) / 4);
      if (shape == 4 && random() % 8 == 0) last = random() << 32;
      cell = random() % 16 == 0 || (shape == 5 && random() % 2 == 0) ? kBlank : last;
    }
    for (const CellKind kind : kKinds) {
      const std::vector<uint8_t> code = Encode(cells, kind);
      EXPECT_LE(code.size(), 9 + 8 * cells.size());
      std::vector<uint64_t> back(cells.size());
      ASSERT_TRUE(DecodeCells(code, kBlank, kind, back)) << round;
      ASSERT_EQ(back, cells) << round;
    }
  }
}

TEST(CellCodec, RepeatedCellsHaveShortCode) {
  EXPECT_TRUE(Encode(std::vector<uint64_t>(64, kBlank), CellKind::kValue).empty());
  EXPECT_LE(
      Encode(std::vector<uint64_t>(64, std::bit_cast<uint64_t>(0.1)), CellKind::kValue).size(),
      11U);
  std::vector<uint64_t> regular;
  for (uint64_t i = 0; i < 64; ++i)
    regular.push_back(1'700'000'000'000'000'000 + i * 60'000'000'000);
  EXPECT_LE(Encode(regular, CellKind::kPosition).size(), 18U);
}

// Damaged snapshot bytes are rejected or decoded as different cells, but decoding never reads
// beyond the span.
TEST(CellCodec, DamagedBytesAreNotReadBeyondSpan) {
  std::mt19937_64 random(8);
  SCOPED_TRACE("seed 8");
  size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint64_t> cells(1 + random() % kMaxCodedCells);
    for (uint64_t& cell : cells) cell = random() % 4 == 0 ? kBlank : random() >> (random() % 64);
    std::vector<uint8_t> code = Encode(cells, CellKind::kValue);
    if (code.empty()) continue;
    code[random() % code.size()] ^= static_cast<uint8_t>(1U << random() % 8);
    if (random() % 2 == 0) code.resize(random() % code.size());
    std::vector<uint64_t> back(cells.size());
    refused += DecodeCells(code, kBlank, CellKind::kValue, back) ? 0 : 1;
  }
  EXPECT_GT(refused, 5'000U);
}

}  // namespace
}  // namespace pitwall::window
