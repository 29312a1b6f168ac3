#include "services/processor/partition/stored_snapshots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace pitwall::processor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the keys of the records. A "-" precedes the key of a tombstone.
std::vector<std::string> Keys(const std::vector<OutgoingRecord>& records) {
  std::vector<std::string> keys;
  for (const OutgoingRecord& record : records)
    keys.push_back((record.tombstone ? "-" : "") + record.key);
  return keys;
}

SnapshotSum SumOf(const std::string& job, int64_t offset) {
  SnapshotSum sum;
  sum.Add(job, offset);
  return sum;
}

TEST(StoredSnapshots, SlotsAlternate) {
  StoredSnapshots stored(3);
  const SnapshotWrite first = stored.Prepare("a", 10, {"x", "y"});
  EXPECT_THAT(Keys(first.records), ElementsAre("3/a/0/0", "3/a/0/1"));
  EXPECT_EQ(stored.sum(), SnapshotSum()) << "the write is not committed";
  stored.NoteCommitted(first);
  EXPECT_EQ(stored.sum(), SumOf("a", 10));
  const SnapshotWrite second = stored.Prepare("a", 20, {"x"});
  EXPECT_THAT(Keys(second.records), ElementsAre("3/a/1/0"));
  stored.NoteCommitted(second);
  EXPECT_EQ(stored.sum(), SumOf("a", 20));
  EXPECT_EQ(stored.written(), 2U);
  EXPECT_THAT(Keys(stored.Prepare("a", 30, {"x"}).records), ElementsAre("3/a/0/0", "-3/a/0/1"));
}

TEST(StoredSnapshots, FailedWrite_IsRetriedInSameSlot) {
  StoredSnapshots stored(0);
  stored.Restore("a", {.newest = 0, .offset = 10, .chunks = {2, 1}});
  EXPECT_THAT(Keys(stored.Prepare("a", 20, {"x"}).records), ElementsAre("0/a/1/0"));
  EXPECT_THAT(Keys(stored.Prepare("a", 30, {"x"}).records), ElementsAre("0/a/1/0"));
  EXPECT_EQ(stored.sum(), SumOf("a", 10));
}

TEST(StoredSnapshots, UnusableSnapshotsAreExcludedFromSum) {
  StoredSnapshots stored(0);
  stored.Restore("a", {.newest = 1, .offset = -1, .chunks = {0, 2}});
  EXPECT_EQ(stored.sum(), SnapshotSum());
  EXPECT_THAT(Keys(stored.Forget({"a", "unknown"})), ElementsAre("-0/a/1/0", "-0/a/1/1"));
  EXPECT_THAT(stored.Forget({"a"}), IsEmpty());
}

TEST(StoredSnapshots, UnsavedReason_IsKeptUntilNextWrite) {
  StoredSnapshots stored(0);
  EXPECT_EQ(stored.WhyUnsaved(), "");
  EXPECT_EQ(stored.NoteUnsaved("a", ResourceExhausted("too large")), "too large");
  EXPECT_EQ(stored.WhyUnsaved(), "too large");
  stored.NoteCommitted(stored.Prepare("a", 1, {"x"}));
  EXPECT_EQ(stored.WhyUnsaved(), "");
}

}  // namespace
}  // namespace pitwall::processor
