#include "services/history/store/job_windows.h"

#include <gtest/gtest.h>

namespace pitwall::history {
namespace {

const OriginKey kBoot = {"collector-a", "boot"};

SegmentMeta SealedAt(int64_t window_ns, uint64_t bytes) {
  SegmentMeta facts;
  facts.window_ns = window_ns;
  facts.bytes = bytes;
  return facts;
}

TEST(JobWindows, BatchIsAdmittedOnce) {
  JobWindows windows;
  SeenCursor cursor;
  BatchAdmission first(&windows, &kBoot, &cursor, 1, {5, 0, 100});
  MemTable* const head = first.Admit(0);
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(first.Admit(0), head) << "more rows of the same batch";
  EXPECT_NE(first.Admit(kWindowNs), nullptr);
  EXPECT_FALSE(first.duplicate());
  BatchAdmission again(&windows, &kBoot, &cursor, 1, {6, 0, 200});
  EXPECT_EQ(again.Admit(0), nullptr);
  EXPECT_TRUE(again.duplicate());
  EXPECT_EQ(windows.by_start().at(0).first_offset, 5);
  EXPECT_EQ(windows.by_start().at(0).head_since_ns, 100);
}

TEST(JobWindows, HeadBytesMatchHeads) {
  JobWindows windows;
  SeenCursor cursor;
  BatchAdmission batch(&windows, &kBoot, &cursor, 1, {});
  MemTable* const head = batch.Admit(0);
  EXPECT_EQ(windows.head_bytes(), head->bytes());
  const OriginPtr origin = std::make_shared<const Origin>();
  windows.AddTo(head, [&](MemTable* rows) { rows->AddSpan(origin, Span(), 1); });
  EXPECT_EQ(windows.head_bytes(), head->bytes());
  windows.Seal(0, SealedAt(0, 10));
  EXPECT_EQ(windows.head_bytes(), 0U);
  EXPECT_EQ(windows.HeadOf(0), nullptr);
  EXPECT_EQ(windows.version(), 1U);
  EXPECT_EQ(windows.disk_bytes(), 10U);
}

TEST(JobWindows, RawSamplesDropped_BatchIsRefused) {
  JobWindows windows;
  SegmentMeta facts = SealedAt(0, 10);
  facts.has_rows = false;
  windows.Restore(facts, {});
  SeenCursor cursor;
  BatchAdmission batch(&windows, &kBoot, &cursor, 1, {});
  EXPECT_EQ(batch.Admit(0), nullptr);
  EXPECT_EQ(batch.Admit(0), nullptr);
  EXPECT_EQ(batch.after_raw(), 1U);
  EXPECT_FALSE(batch.duplicate());
}

TEST(JobWindows, FreeKeepsVersion) {
  JobWindows windows;
  windows.Restore(SealedAt(0, 10), {});
  windows.Seal(0, SealedAt(0, 20));
  windows.Free();
  EXPECT_TRUE(windows.by_start().empty());
  EXPECT_EQ(windows.version(), 1U);
}

}  // namespace
}  // namespace pitwall::history
