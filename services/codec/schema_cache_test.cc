// Tests for a decoder's schema cache.
#include "services/codec/schema_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "services/codec/telemetry_codec.h"

namespace pitwall::codec {
namespace {

// Returns a distinct record for each number, with a 4 MB schema.
std::string LongSchema(int number) {
  Batch batch;
  batch.job = "job-1";
  batch.source = "collector";
  batch.boot_id = "b";
  batch.sequence = 1;
  Schema schema;
  for (int i = 0; i < 1000; ++i) {
    schema.series.push_back({Labels({{"__name__", "m"},
                                     {"number", std::to_string(1000 * number + i)},
                                     {"text", std::string(4000, 'x')}}),
                             SeriesKind::kGauge});
  }
  schema.id = SchemaId(schema.stream, schema.series);
  batch.schemas = {schema};
  std::string bytes;
  EncodeBatch(batch, &bytes);
  return bytes;
}

// Schemas held by a consumer are decoded only once, regardless of their total size.
TEST(BatchDecoder, SchemasInUseAreNeverEvicted) {
  BatchDecoder decoder;
  std::vector<std::string> records;
  std::vector<SharedSchema> held;
  for (int i = 0; i < 12; ++i) {  // 48 MB
    records.push_back(LongSchema(i));
    const auto decoded = decoder.Decode(records.back());
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    held.push_back(decoded->batch->schemas[0]);
  }
  for (size_t i = 0; i < records.size(); ++i) {
    const auto again = decoder.Decode(records[i]);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(&*again->batch->schemas[0], &*held[i]) << i;
  }
}

TEST(SchemaCache, UnusedSchemasAreEvictedBeyondLimit) {
  SchemaCache cache;
  const auto text = [](int i) { return std::string(4 << 20, static_cast<char>('a' + i)); };
  const auto held = std::make_shared<const Schema>();
  cache.Add(text(0), held);
  auto gone = std::make_shared<const Schema>();
  const std::weak_ptr<const Schema> watched = gone;
  cache.Add(text(1), std::move(gone));
  ASSERT_FALSE(watched.expired());
  for (int i = 2; i < 12; ++i) cache.Add(text(i), std::make_shared<const Schema>());  // 48 MB
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(cache.Find(text(1)), nullptr);
  EXPECT_EQ(cache.Find(text(0)), held);
  EXPECT_NE(cache.Find(text(11)), nullptr);
}

}  // namespace
}  // namespace pitwall::codec
