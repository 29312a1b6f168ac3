#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "services/base/text/strings.h"
#include "services/codec/blocks/bit_stream.h"
#include "services/codec/blocks/block_decoder.h"
#include "services/codec/blocks/block_encoder.h"

namespace pitwall::blocks {
namespace {

using Values = std::vector<double>;
using Rng = std::mt19937_64;

std::vector<uint64_t> BitsOf(const Values& values) {
  std::vector<uint64_t> bits;
  for (const double v : values) bits.push_back(std::bit_cast<uint64_t>(v));
  return bits;
}

// Returns values of one kind, similar to real data from collectors and clients.
Values Make(size_t count, const std::function<double(size_t)>& value) {
  Values out;
  for (size_t i = 0; i < count; ++i) out.push_back(value(i));
  return out;
}

double Normal(Rng* rng, double mean, double deviation) {
  return std::normal_distribution<double>(mean, deviation)(*rng);
}

std::map<std::string, Values> Kinds() {
  Rng rng(20261123);
  std::map<std::string, Values> kinds;
  kinds["constant"] = Values(1200, 0.25);
  kinds["busy core ratio"] = Make(
      1200, [&](size_t) { return std::clamp(std::round(Normal(&rng, 35, 8)), 0.0, 50.0) / 50; });
  kinds["idle core ratio"] = Make(1200, [&](size_t) { return rng() % 20 == 0 ? 0.02 : 0.0; });
  kinds["gpu utilization"] = Make(
      1200, [&](size_t) { return std::clamp(std::round(Normal(&rng, 90, 3)), 0.0, 100.0) * 0.01; });
  kinds["power"] =
      Make(1200, [&](size_t) { return std::round(Normal(&rng, 412345, 9000)) / 1000; });
  kinds["temperature"] = Make(1200, [&, t = 61.0](size_t) mutable {
    if (rng() % 40 == 0) t += rng() % 2 == 0 ? 1 : -1;
    return t;
  });
  kinds["cpu counter"] = Make(1200, [&, t = 8123.5](size_t) mutable {
    t += static_cast<double>(rng() % 50) / 100;
    return std::round(t * 100) / 100;
  });
  kinds["network bytes"] = Make(1200, [&, t = 9e12](size_t) mutable {
    t += static_cast<double>(rng() % 40'000'000);
    return t;
  });
  kinds["float32 noise"] =
      Make(1200, [&](size_t) { return static_cast<float>(Normal(&rng, 2.1, 0.2)); });
  kinds["noise"] = Make(1200, [&](size_t) { return Normal(&rng, 0, 1); });
  kinds["two values"] = {1, 2};
  kinds["one value"] = {-3.5};
  kinds["edges"] = {0.0,
                    -0.0,
                    std::numeric_limits<double>::quiet_NaN(),
                    std::bit_cast<double>(0x7ff0000000000002u),  // Prometheus staleness marker
                    std::numeric_limits<double>::infinity(),
                    -std::numeric_limits<double>::infinity(),
                    std::numeric_limits<double>::denorm_min(),
                    std::numeric_limits<double>::max(),
                    -1e300,
                    9007199254740993.0};
  kinds["minus zero"] = {0.0, -0.0, 1.0, -0.0};
  kinds["a dictionary of 300"] =
      Make(4096, [&](size_t) { return std::sqrt(static_cast<double>(rng() % 300)); });
  kinds["most values"] =
      Make(kMaxBlockValues, [&](size_t) { return std::bit_cast<double>(rng()); });
  return kinds;
}

TEST(BlockCodec, EveryKindRoundTripsBitIdentically) {
  BlockEncoder encoder;
  BlockDecoder decoder;
  for (const auto& [name, values] : Kinds()) {
    std::string block;
    ASSERT_TRUE(encoder.Encode(values, nullptr, &block).ok()) << name;
    Values got;
    const Status status = decoder.Decode(block, &got);
    ASSERT_TRUE(status.ok()) << name << ": " << status;
    EXPECT_EQ(BitsOf(got), BitsOf(values)) << name;
  }
}

// The limits are the bytes per value in docs/decisions/0043, plus a margin for other zstd versions.
TEST(BlockCodec, BytesPerValueStayWithinMeasuredLimits) {
  const std::map<std::string, double> most = {
      {"constant", 0.02},       {"busy core ratio", 0.9}, {"idle core ratio", 0.25},
      {"gpu utilization", 0.8}, {"power", 2.6},           {"temperature", 0.25},
      {"cpu counter", 1.1},     {"network bytes", 4.3},   {"float32 noise", 3.8},
  };
  BlockEncoder encoder;
  const auto kinds = Kinds();
  for (const auto& [name, limit] : most) {
    const Values& values = kinds.at(name);
    std::string block;
    ASSERT_TRUE(encoder.Encode(values, nullptr, &block).ok());
    const double each = static_cast<double>(block.size()) / static_cast<double>(values.size());
    EXPECT_LE(each, limit) << name;
    RecordProperty(name, Cat(each));
    std::printf("%-18s %.2f bytes a value, form %d\n", name.c_str(), each, block[0]);
  }
}

TEST(BlockCodec, HintAvoidsTrialsAndAdaptsToChangedSeries) {
  BlockEncoder encoder;
  BlockDecoder decoder;
  const auto kinds = Kinds();
  FormHint hint;
  for (const char* name : {"gpu utilization", "gpu utilization", "noise", "noise", "temperature",
                           "constant", "edges", "gpu utilization"}) {
    const Values& values = kinds.at(name);
    std::string hinted;
    std::string full;
    ASSERT_TRUE(encoder.Encode(values, &hint, &hinted).ok());
    ASSERT_TRUE(encoder.Encode(values, nullptr, &full).ok());
    EXPECT_LE(hinted.size() * 3, full.size() * 4 + 24) << name;
    Values got;
    ASSERT_TRUE(decoder.Decode(hinted, &got).ok()) << name;
    EXPECT_EQ(BitsOf(got), BitsOf(values)) << name;
  }
}

TEST(BlockCodec, RandomBlocksRoundTrip) {
  Rng rng(7);
  BlockEncoder encoder;
  BlockDecoder decoder;
  FormHint hint;
  for (int round = 0; round < 400; ++round) {
    const size_t count = 1 + rng() % 300;
    const uint64_t kind = rng() % 5;
    const double unit = std::pow(10.0, -static_cast<double>(rng() % 8));
    const Values values = Make(count, [&](size_t) {
      const double whole = static_cast<double>(static_cast<int64_t>(rng() % 2001) - 1000);
      if (kind == 0) return whole * unit;
      if (kind == 1) return whole;
      if (kind == 2) return std::bit_cast<double>(rng());
      if (kind == 3) return static_cast<double>(rng() % 3);
      return rng() % 9 == 0 ? std::numeric_limits<double>::quiet_NaN() : whole / 7;
    });
    std::string block;
    ASSERT_TRUE(encoder.Encode(values, &hint, &block).ok());
    Values got;
    ASSERT_TRUE(decoder.Decode(block, &got).ok());
    ASSERT_EQ(BitsOf(got), BitsOf(values)) << "round " << round;
  }
}

TEST(BlockCodec, CorruptBlockIsRejectedOrKeepsValueCount) {
  BlockEncoder encoder;
  BlockDecoder decoder;
  Rng rng(11);
  for (const auto& [name, values] : Kinds()) {
    std::string block;
    ASSERT_TRUE(encoder.Encode(values, nullptr, &block).ok());
    for (int i = 0; i < 400; ++i) {
      std::string damaged = block;
      damaged[rng() % damaged.size()] ^= static_cast<char>(1u << rng() % 8);
      if (i % 4 == 0) damaged.resize(rng() % damaged.size());
      Values got;
      if (!decoder.Decode(damaged, &got).ok()) continue;
      EXPECT_LE(got.size(), kMaxBlockValues) << name;
    }
    Values got;
    EXPECT_FALSE(decoder.Decode(block.substr(0, block.size() - 1), &got).ok()) << name;
    EXPECT_FALSE(decoder.Decode(block + '\x01', &got).ok()) << name;
  }
}

TEST(BlockCodec, RejectsInvalidBlock) {
  BlockEncoder encoder;
  std::string block;
  EXPECT_FALSE(encoder.Encode({}, nullptr, &block).ok());
  EXPECT_FALSE(encoder.Encode(Values(kMaxBlockValues + 1, 1.0), nullptr, &block).ok());
  BlockDecoder decoder;
  Values got;
  EXPECT_FALSE(decoder.Decode("", &got).ok());
  EXPECT_EQ(decoder.Decode(std::string("\x09\x00\x01x", 4), &got).message(),
            "block: unknown form 9; it was written by a newer version");
}

TEST(BitStream, RoundTrip) {
  Rng rng(3);
  std::vector<std::pair<uint64_t, int>> all;
  std::string bytes;
  BitWriter writer(&bytes);
  for (int i = 0; i < 2000; ++i) {
    const int count = static_cast<int>(rng() % 65);
    const uint64_t bits = count == 64 ? rng() : rng() & ((uint64_t{1} << count) - 1);
    all.emplace_back(bits, count);
    writer.Put(bits, count);
  }
  writer.Finish();
  BitReader reader(bytes);
  for (const auto& [bits, count] : all) ASSERT_EQ(reader.Get(count), bits);
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_EQ(reader.Get(64), 0u);
  EXPECT_TRUE(reader.past_end());
  EXPECT_FALSE(reader.AtEnd());
}

}  // namespace
}  // namespace pitwall::blocks
