#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/base/system/files.h"
#include "services/base/text/glob.h"
#include "services/base/text/percent.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

TEST(Strings, CatMixesViewsAndNumbers) {
  const std::string_view view = "b";
  EXPECT_EQ(Cat("a", view, std::string("c"), 4, absl::string_view("e")), "abc4e");
}

TEST(Strings, FormatBytesUsesThreeDigits) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1023), "0.999 KiB");
  EXPECT_EQ(FormatBytes(5.0 * 1024 * 1024), "5 MiB");
}

TEST(Strings, FormatDoubleIsShortestAndRoundTrips) {
  EXPECT_EQ(FormatDouble(1), "1");
  EXPECT_EQ(FormatDouble(0.1), "0.1");
  EXPECT_EQ(FormatDouble(-0.0), "-0");
  EXPECT_EQ(FormatDouble(1e21), "1e+21");
  EXPECT_EQ(FormatDouble(123456789.125), "123456789.125");
  EXPECT_EQ(FormatDouble(0.00001), "1e-05");
  EXPECT_EQ(FormatDouble(std::nan("")), "NaN");
  EXPECT_EQ(FormatDouble(-std::numeric_limits<double>::infinity()), "-Inf");
  for (const double v : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, 9007199254740993.0}) {
    EXPECT_EQ(ParseDouble(FormatDouble(v)), v);
  }
}

TEST(Strings, ParseDoubleRequiresCompleteNumber) {
  EXPECT_EQ(ParseDouble("1.5"), 1.5);
  EXPECT_EQ(ParseDouble("+1.5"), 1.5);
  EXPECT_EQ(ParseDouble("-Inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(*ParseDouble("NaN")));
  EXPECT_EQ(ParseDouble("1e999"), std::numeric_limits<double>::infinity());
  EXPECT_FALSE(ParseDouble("1.5x"));
  EXPECT_FALSE(ParseDouble(""));
  EXPECT_FALSE(ParseDouble("+-1"));
}

TEST(StableHash, BothCrcImplementationsAgree) {
  EXPECT_EQ(internal::Crc32cByTables("123456789", 0), 0xe3069283U);
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    for (const uint32_t seed : {0U, 1U, 0xdeadbeefU}) {
      EXPECT_EQ(Crc32c(bytes, seed), internal::Crc32cByTables(bytes, seed)) << i;
    }
    bytes.push_back(static_cast<char>(i * 37));
  }
  EXPECT_EQ(Crc32c("56789", Crc32c("1234")), Crc32c("123456789"));
}

TEST(StableHash, MatchesPublishedValues) {
  // Published values: the CRC-32C of "123456789", and Kafka's test vectors for Utils.murmur2.
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(static_cast<int32_t>(Murmur2("21")), -973932308);
  EXPECT_EQ(static_cast<int32_t>(Murmur2("foobar")), -790332482);
  EXPECT_EQ(static_cast<int32_t>(Murmur2("a-little-bit-long-string")), -985981536);
  EXPECT_EQ(static_cast<int32_t>(Murmur2("abc")), 479470107);
  EXPECT_EQ(StableHashHex("").size(), 32u);
}

TEST(Binary, RoundTripKeepsEveryBit) {
  BinaryWriter w;
  w.U64(300);
  w.I64(std::numeric_limits<int64_t>::min());
  w.Double(-0.0);
  w.Str("x\0y");
  w.I64s(std::vector<int64_t>{std::numeric_limits<int64_t>::max(),
                              std::numeric_limits<int64_t>::min(), 0});
  w.Doubles(std::vector<double>{1, 2});
  BinaryReader r(w.data());
  EXPECT_EQ(r.U64(), 300u);
  EXPECT_EQ(r.I64(), std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(std::signbit(r.Double()));
  EXPECT_EQ(r.Str(), "x\0y");
  EXPECT_EQ(r.I64s(), (std::vector<int64_t>{std::numeric_limits<int64_t>::max(),
                                            std::numeric_limits<int64_t>::min(), 0}));
  EXPECT_EQ(r.Doubles(), (std::vector<double>{1, 2}));
  EXPECT_TRUE(r.Finish("test").ok());
}

TEST(Binary, CorruptInputReturnsDataLoss) {
  BinaryWriter w;
  w.Doubles(std::vector<double>{1, 2, 3});
  for (size_t cut = 0; cut < w.data().size(); ++cut) {
    BinaryReader r(std::string_view(w.data()).substr(0, cut));
    r.Doubles();
    EXPECT_FALSE(r.Finish("cut").ok()) << cut;
  }
  BinaryReader huge("\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  EXPECT_TRUE(huge.Doubles().empty());
  EXPECT_FALSE(huge.ok());
}

TEST(Binary, NumbersOfAllLengthsRoundTrip) {
  std::vector<int64_t> numbers;
  std::vector<uint32_t> small;
  for (int bits = 0; bits < 64; ++bits) {
    for (const uint64_t v : {uint64_t{1} << bits, (uint64_t{1} << bits) - 1}) {
      numbers.insert(numbers.end(), {static_cast<int64_t>(v), static_cast<int64_t>(~v), 5, 6});
      small.push_back(static_cast<uint32_t>(v));
    }
  }
  BinaryWriter w;
  w.I64s(numbers);
  w.U32s(small);
  for (const uint32_t v : small) w.U64(v);
  BinaryReader r(w.data());
  std::vector<int64_t> read(1000, -1);  // the vector's memory is reused
  r.I64s(&read);
  EXPECT_EQ(read, numbers);
  EXPECT_EQ(r.U32s(), small);
  for (const uint32_t v : small) EXPECT_EQ(r.U64(), v);
  EXPECT_TRUE(r.Finish("test").ok());
  for (size_t cut = 0; cut < w.data().size(); ++cut) {
    BinaryReader part(std::string_view(w.data()).substr(0, cut));
    part.I64s(&read);
    part.U32s();
    for (size_t i = 0; i < small.size(); ++i) part.U64();
    EXPECT_FALSE(part.ok()) << cut;
  }
}

Status Fails() { return NotFound("x"); }
StatusOr<int> Chain() {
  RETURN_IF_ERROR(Fails());
  return 1;
}
TEST(Status, MacrosReturnErrorToCaller) {
  EXPECT_EQ(Chain().status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Annotate(Fails(), "here").message(), "here: x");
}

TEST(Glob, MatchesPatterns) {
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("*", "a/b/c"));
  EXPECT_TRUE(GlobMatches("crash/*", "crash/gpu/X"));
  EXPECT_TRUE(GlobMatches("*/NaN", "stability/loss/NaN"));
  EXPECT_TRUE(GlobMatches("a?c", "abc"));
  EXPECT_TRUE(GlobMatches("a*b*c", "axxbyyc"));
  EXPECT_TRUE(GlobMatches("*a*", "bab"));
  EXPECT_TRUE(GlobMatches("a", "a"));
  EXPECT_TRUE(GlobMatches("", ""));
  EXPECT_FALSE(GlobMatches("", "a"));
  EXPECT_FALSE(GlobMatches("a", "ab"));
  EXPECT_FALSE(GlobMatches("a?", "a"));
  EXPECT_FALSE(GlobMatches("*/NaN", "stability/loss/NaN2"));
  EXPECT_FALSE(GlobMatches("crash/*", "xcrash/gpu"));
  // Matching must not take exponential time.
  EXPECT_FALSE(GlobMatches("*a*a*a*a*a*a*a*a*a*a*b", std::string(10'000, 'a')));
  EXPECT_FALSE(GlobMatches(std::string(64, '*') + "b", std::string(10'000, 'a')));
}

TEST(Files, WriteReplacesWholeFile) {
  const std::string path = Cat(testing::TempDir(), "/pitwall-files-", ::getpid());
  ASSERT_TRUE(WriteFile(path, "one").ok());
  ASSERT_TRUE(WriteFile(path, "two\n").ok());
  EXPECT_EQ(*ReadFile(path), "two\n");
  EXPECT_TRUE(absl::IsNotFound(ReadFile(path + ".new").status()));
  // If the disk is full, the old file is kept.
  ASSERT_EQ(::symlink("/dev/full", (path + ".new").c_str()), 0);
  const Status full = WriteFile(path, "three");
  EXPECT_THAT(std::string(full.message()), testing::HasSubstr(path));
  EXPECT_EQ(*ReadFile(path), "two\n");
  EXPECT_TRUE(absl::IsNotFound(WriteFile("/no/such/folder/x", "")));
  ::unlink(path.c_str());
}

TEST(PercentEncoded, KeepsUnreservedCharacters) {
  EXPECT_EQ(PercentEncoded("aZ0-._~"), "aZ0-._~");
  EXPECT_EQ(PercentEncoded("a b/\xff%"), "a%20b%2F%FF%25");
  EXPECT_EQ(PercentEncoded("a/b:c", "/"), "a/b%3Ac");
}

}  // namespace
}  // namespace pitwall
