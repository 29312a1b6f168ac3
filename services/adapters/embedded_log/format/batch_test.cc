#include "services/adapters/embedded_log/format/batch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/base/text/strings.h"

namespace pitwall::log {
namespace {

OutgoingRecord Sample(int i) {
  OutgoingRecord record;
  record.key = Cat("key-", i % 5);
  record.value = i % 7 == 3 ? "" : Cat("value ", i, std::string(static_cast<size_t>(i % 50), 'v'));
  record.tombstone = i % 11 == 5;
  if (i % 3 == 0) record.headers = {{"n", Cat(i)}, {"", "x"}};
  return record;
}

std::string Encode(bool compress, int count, int64_t base) {
  BatchBuilder builder;
  for (int i = 0; i < count; ++i) builder.Add(base + 2 * i, 1000 + i, Sample(i));
  std::string out;
  builder.Finish(42, compress, &out);
  EXPECT_TRUE(builder.empty());
  return out;
}

TEST(Batch, RoundTripPreservesRecords) {
  for (const bool compress : {false, true}) {
    const std::string bytes = Encode(compress, 100, 7000);
    const auto header = ParseBatchHeader(bytes);
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->base_offset, 7000);
    EXPECT_EQ(header->last_offset(), 7198);
    EXPECT_EQ(header->count, 100U);
    EXPECT_EQ(header->sequence, 42U);
    EXPECT_EQ(header->first_time_ns, 1000);
    EXPECT_EQ(header->last_time_ns, 1099);
    EXPECT_EQ(header->compressed, compress);
    EXPECT_EQ(bytes.size(), kBatchHeaderBytes + header->stored_bytes);
    BatchDecoder decoder;
    ASSERT_TRUE(decoder.Open(*header, std::string_view(bytes).substr(kBatchHeaderBytes)).ok());
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(decoder.more());
      RecordView view;
      const Status status = decoder.Next(&view);
      ASSERT_TRUE(status.ok()) << status;
      const OutgoingRecord expected = Sample(i);
      Headers headers;
      EXPECT_EQ(view.offset, 7000 + 2 * i);
      EXPECT_EQ(view.append_time_ns, 1000 + i);
      EXPECT_EQ(view.key, expected.key);
      EXPECT_EQ(view.value, expected.tombstone ? "" : expected.value);
      EXPECT_EQ(view.tombstone, expected.tombstone);
      EXPECT_TRUE(DecodeHeaders(view.headers, &headers));
      EXPECT_EQ(headers, expected.headers);
    }
    EXPECT_FALSE(decoder.more());
  }
}

TEST(Batch, IncompressibleDataStaysUncompressed) {
  std::string noise;
  uint64_t state = 88172645463325252ULL;
  while (noise.size() < 4096) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    noise.push_back(static_cast<char>(state));
  }
  OutgoingRecord record;
  record.value = noise;
  BatchBuilder builder;
  builder.Add(1, 1, record);
  std::string out;
  builder.Finish(1, true, &out);
  EXPECT_FALSE(ParseBatchHeader(out)->compressed);
}

TEST(Batch, EveryFlippedBitIsDetected) {
  for (const bool compress : {false, true}) {
    const std::string whole = Encode(compress, 20, 0);
    for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
      std::string bytes = whole;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      const auto header = ParseBatchHeader(bytes);
      if (!header.has_value()) continue;
      BatchDecoder decoder;
      EXPECT_FALSE(decoder.Open(*header, std::string_view(bytes).substr(kBatchHeaderBytes)).ok())
          << "bit " << bit;
    }
  }
}

TEST(Batch, ShortHeaderIsRejected) {
  const std::string whole = Encode(false, 3, 0);
  for (size_t size = 0; size < kBatchHeaderBytes; ++size) {
    EXPECT_FALSE(ParseBatchHeader(std::string_view(whole).substr(0, size)).has_value());
  }
}

}  // namespace
}  // namespace pitwall::log
