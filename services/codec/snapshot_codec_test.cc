#include "services/codec/snapshot_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "pitwall/state/v1/state.pb.h"

namespace pitwall::codec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Noise(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::string out(bytes, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

std::string Change(const std::string& chunk,
                   const std::function<void(state::v1::SnapshotChunk*)>& change) {
  state::v1::SnapshotChunk message;
  EXPECT_TRUE(message.ParseFromString(chunk));
  message.clear_header_crc32c();  // older versions do not write a header CRC
  change(&message);
  return message.SerializeAsString();
}

TEST(SnapshotCodec, ChunksRoundTripInAnyOrder) {
  const uint32_t seed = 20'261'121;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{1000}, size_t{3'000'000}}) {
    const std::string payload = Noise(bytes, seed);
    auto chunks = SplitSnapshot("job-1", 42, "abc", 7, payload);
    ASSERT_TRUE(chunks.ok()) << chunks.status();
    EXPECT_EQ(chunks->size() > 1, bytes > 1'000'000);
    for (const std::string& chunk : *chunks) EXPECT_LE(chunk.size(), kSnapshotChunkBytes);
    std::shuffle(chunks->begin(), chunks->end(), random);
    SnapshotAssembler assembler;
    for (size_t i = 0; i < chunks->size(); ++i) {
      auto added = assembler.Add((*chunks)[i]);
      ASSERT_TRUE(added.ok()) << added.status();
      ASSERT_EQ(added->has_value(), i + 1 == chunks->size());
      if (!added->has_value()) continue;
      EXPECT_EQ((*added)->job, "job-1");
      EXPECT_EQ((*added)->offset, 42);
      EXPECT_EQ((*added)->rule_set_hash, "abc");
      EXPECT_EQ((*added)->format, 7u);
      const auto unpacked = UnpackSnapshot(**added);
      ASSERT_TRUE(unpacked.ok()) << unpacked.status();
      EXPECT_EQ(*unpacked, payload);
    }
    EXPECT_TRUE(assembler.Incomplete().empty());
  }
}

TEST(SnapshotCodec, ChunksWithLongNamesStayWithinSizeLimit) {
  const std::string name(1024, 'j');
  auto chunks = SplitSnapshot(name, INT64_MAX, name, UINT32_MAX, Noise(2'000'000, 1));
  ASSERT_TRUE(chunks.ok());
  for (const std::string& chunk : *chunks) EXPECT_LE(chunk.size(), kSnapshotChunkBytes);
  EXPECT_FALSE(SplitSnapshot(name + "j", 0, "", 1, "x").ok());
  EXPECT_FALSE(SplitSnapshot("", 0, "", 1, "x").ok());
}

TEST(SnapshotCodec, ChunksOfTwoSnapshotsAreNotCombined) {
  // A newer snapshot overwrote the first chunk of the older one.
  auto old_chunks = *SplitSnapshot("j", 10, "r", 1, Noise(1'500'000, 1));
  auto new_chunks = *SplitSnapshot("j", 20, "r", 1, Noise(1'500'000, 2));
  SnapshotAssembler assembler;
  EXPECT_FALSE(assembler.Add(new_chunks[0])->has_value());
  for (size_t i = 1; i < old_chunks.size(); ++i)
    EXPECT_FALSE(assembler.Add(old_chunks[i])->has_value());
  EXPECT_THAT(assembler.Incomplete(), ElementsAre(HasSubstr("\"j\" offset 10: 2 of 3"),
                                                  HasSubstr("\"j\" offset 20: 1 of 3")));
  assembler.Drop("j");
  EXPECT_TRUE(assembler.Incomplete().empty());
}

TEST(SnapshotCodec, RejectsDamagedMixedAndOversizedChunks) {
  const auto chunks = *SplitSnapshot("j", 10, "r", 1, Noise(1'200'000, 1));
  ASSERT_EQ(chunks.size(), 3u);
  const struct {
    const char* what;
    std::function<void(state::v1::SnapshotChunk*)> change;
  } cases[] = {
      {"damaged (CRC mismatch)", [](auto* c) { (*c->mutable_payload())[5] ^= 1; }},
      {"mixed", [](auto* c) { c->set_chunks(4); }},
      {"mixed", [](auto* c) { c->set_format(2); }},
      {"mixed", [](auto* c) { c->set_rule_set_hash("s"); }},
      {"mixed", [](auto* c) { c->set_uncompressed_bytes(5); }},
      {"invalid number of chunks (got 3)", [](auto* c) { c->set_index(3); }},
      {"invalid number of chunks (got 0)", [](auto* c) { c->set_chunks(0); }},
      {"uncompressed size is", [](auto* c) { c->set_uncompressed_bytes(uint64_t{1} << 40); }},
      {"job ID is missing", [](auto* c) { c->clear_job(); }},
      {"two different", [](auto* c) { c->set_index(0); }},
  };
  for (const auto& [what, change] : cases) {
    SnapshotAssembler assembler;
    ASSERT_TRUE(assembler.Add(chunks[0]).ok());
    const auto added = assembler.Add(Change(chunks[1], change));
    ASSERT_FALSE(added.ok()) << what;
    EXPECT_THAT(std::string(added.status().message()), HasSubstr(what));
  }
  SnapshotAssembler assembler;
  EXPECT_FALSE(assembler.Add("garbage").ok());
  EXPECT_FALSE(assembler.Add(std::string(2'000'000, 'x')).ok());
  // A rejected snapshot is never completed.
  ASSERT_TRUE(assembler.Add(chunks[0]).ok());
  ASSERT_FALSE(assembler.Add(Change(chunks[1], cases[0].change)).ok());
  const auto after = assembler.Add(chunks[2]);
  ASSERT_FALSE(after.ok());
  EXPECT_THAT(std::string(after.status().message()), HasSubstr("already rejected"));
  EXPECT_THAT(assembler.Incomplete(), ElementsAre(HasSubstr("rejected:")));
}

TEST(SnapshotCodec, RejectsCompressionBombAndOtherFormats) {
  const auto chunks = *SplitSnapshot("j", 10, "r", 1, std::string(5'000'000, 'a'));
  ASSERT_EQ(chunks.size(), 1u);
  SnapshotLimits limits;
  limits.uncompressed_bytes = 1'000'000;
  EXPECT_FALSE(SnapshotAssembler(limits).Add(chunks[0]).ok());
  // The payload is larger than declared.
  const auto lying = Change(chunks[0], [](auto* c) { c->set_uncompressed_bytes(10); });
  const auto small = *SnapshotAssembler(limits).Add(lying);
  ASSERT_TRUE(small.has_value());
  EXPECT_THAT(std::string(UnpackSnapshot(*small).status().message()),
              HasSubstr("does not match the expected length"));
  const auto text = Change(chunks[0], [](auto* c) {
    c->set_payload("");
    c->set_payload_crc32c(0);
  });
  EXPECT_FALSE(UnpackSnapshot(**SnapshotAssembler().Add(text)).ok());
}

// The reader must accept everything that the writer writes (issue 10, A2).
TEST(SnapshotCodec, WriterAndReaderShareLimit) {
  SnapshotLimits limits;
  limits.uncompressed_bytes = 3'000'000;
  for (const size_t bytes : {size_t{2'999'999}, size_t{3'000'000}, size_t{3'000'001}}) {
    const std::string payload = Noise(bytes, 7);
    const auto chunks = SplitSnapshot("j", 1, "r", 1, payload, limits);
    ASSERT_EQ(chunks.ok(), bytes <= limits.uncompressed_bytes);
    if (!chunks.ok()) {
      EXPECT_THAT(std::string(chunks.status().message()), HasSubstr("the limit is 3000000"));
      continue;
    }
    SnapshotAssembler assembler(limits);
    for (size_t i = 0; i < chunks->size(); ++i) {
      const auto added = assembler.Add((*chunks)[i]);
      ASSERT_TRUE(added.ok()) << added.status();
      if (i + 1 == chunks->size()) {
        EXPECT_EQ(*UnpackSnapshot(**added), payload);
      }
    }
  }
}

TEST(SnapshotCodec, ChunkWithFlippedBitIsRejected) {
  const std::string chunk = (*SplitSnapshot("job", 10, "rules", 4, Noise(200, 1)))[0];
  for (size_t bit = 0; bit < chunk.size() * 8; ++bit) {
    std::string damaged = chunk;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const auto added = SnapshotAssembler().Add(damaged);
    if (!added.ok() || !added->has_value()) continue;
    // The only acceptable effect of a flip is to hide the CRC by turning its field into an unknown
    // field.
    const Snapshot& snapshot = **added;
    EXPECT_EQ(snapshot.job, "job") << bit;
    EXPECT_EQ(snapshot.offset, 10) << bit;
    EXPECT_EQ(snapshot.rule_set_hash, "rules") << bit;
    EXPECT_EQ(snapshot.format, 4u) << bit;
    const auto payload = UnpackSnapshot(snapshot);
    EXPECT_TRUE(payload.ok() && *payload == Noise(200, 1)) << bit;
  }
}

TEST(SnapshotCodec, LimitsPendingSnapshots) {
  SnapshotLimits limits;
  limits.pending_snapshots = 2;
  SnapshotAssembler assembler(limits);
  const auto a = *SplitSnapshot("a", 1, "r", 1, Noise(1'400'000, 1));
  const auto b = *SplitSnapshot("b", 1, "r", 1, Noise(1'400'000, 2));
  const auto c = *SplitSnapshot("c", 1, "r", 1, Noise(1'400'000, 3));
  EXPECT_TRUE(assembler.Add(a[0]).ok());
  EXPECT_TRUE(assembler.Add(a[0]).ok());  // a duplicate is not an error and is not counted
  EXPECT_TRUE(assembler.Add(b[2]).ok());
  EXPECT_EQ(assembler.Add(c[0]).status().code(), absl::StatusCode::kResourceExhausted);
  assembler.Drop("b");
  EXPECT_TRUE(assembler.Add(c[2]).ok());
}

}  // namespace
}  // namespace pitwall::codec
