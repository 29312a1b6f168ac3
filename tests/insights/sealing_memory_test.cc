// Tests for the memory that sealing requires in addition to its window. Tables are unpacked one at
// a time, and spans are not copied.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "services/base/text/strings.h"
#include "services/codec/telemetry_codec.h"
#include "services/history/flush/flush_input.h"
#include "services/history/flush/segment_writer.h"
#include "services/history/store/stored_job.h"
#include "services/io/topics.h"
#include "services/loadgen/load_run.h"

namespace {

// Number of bytes that `new` has allocated, and its maximum.
std::atomic<size_t> in_use{0};
std::atomic<size_t> most_in_use{0};

void* Take(size_t size) {
  void* const at = std::malloc(size);
  if (at == nullptr) throw std::bad_alloc();
  const size_t now = in_use += malloc_usable_size(at);
  if (now > most_in_use) most_in_use = now;  // The test is single-threaded.
  return at;
}

void GiveBack(void* at) {
  if (at == nullptr) return;
  in_use -= malloc_usable_size(at);
  std::free(at);
}

}  // namespace

void* operator new(size_t size) { return Take(size); }
void* operator new[](size_t size) { return Take(size); }
void operator delete(void* at) noexcept { GiveBack(at); }
void operator delete[](void* at) noexcept { GiveBack(at); }
void operator delete(void* at, size_t) noexcept { GiveBack(at); }
void operator delete[](void* at, size_t) noexcept { GiveBack(at); }

namespace pitwall::history {
namespace {

constexpr int64_t kBegin = 1'767'225'600 * kNanosPerSecond;

// Adds batches directly to a job, on the thread that generates the load.
class JobSink final : public loadgen::LoadSink {
 public:
  Status Deliver(int64_t, std::string_view key, std::string value, int32_t) override {
    if (key == kControlKey) return OkStatus();
    ASSIGN_OR_RETURN(const codec::DecodedRecord record, decoder_.Decode(value));
    if (record.batch == nullptr) return OkStatus();
    job_.Ingest(*record.batch, {offset_++, 0, 0}, &counts_);
    return OkStatus();
  }
  Status Reach(int64_t) override { return OkStatus(); }
  int32_t partitions() const override { return 1; }
  const StoredJob& job() const { return job_; }

 private:
  codec::BatchDecoder decoder_;
  StoredJob job_{"job", 1};
  IngestCounts counts_;
  int64_t offset_ = 0;
};

// Measurements for the largest window in a load: its size in memory, its samples, and the
// additional memory for sealing it.
struct Taken {
  size_t kept = 0;
  size_t samples = 0;
  size_t sealing = 0;
};

Taken SealLargest(const loadgen::LoadPlan& plan) {
  JobSink sink;
  loadgen::LoadRun load(plan, &sink);
  const Status made = load.Run([](const loadgen::Planted&) {});
  EXPECT_TRUE(made.ok()) << made;
  const auto& windows = sink.job().windows();
  const auto largest = std::max_element(
      windows.begin(), windows.end(),
      [](const auto& a, const auto& b) { return a.second.head->bytes() < b.second.head->bytes(); });
  const MemTable& head = *largest->second.head;
  const std::string path = Cat(::testing::TempDir(), "/sealing-memory.seg");
  Taken out{head.bytes(), head.samples(), 0};
  const size_t before = in_use;
  most_in_use = before;
  {
    const auto content = FlushInput::Of(&head, nullptr, &largest->second.seen);
    EXPECT_TRUE(content.ok()) << content.status();
    SegmentHints hints;
    SegmentMeta facts;
    facts.job = "job";
    facts.window_ns = largest->first;
    const Status written = WriteWindow(path, **content, &hints, &facts, nullptr);
    EXPECT_TRUE(written.ok()) << written;
    EXPECT_EQ(facts.samples, head.samples());
  }
  out.sealing = most_in_use - before;
  std::filesystem::remove(path);
  ::testing::Test::RecordProperty("kept", Cat(out.kept));
  ::testing::Test::RecordProperty("sealing", Cat(out.sealing));
  return out;
}

loadgen::LoadPlan Plan() {
  loadgen::LoadPlan plan;
  plan.start_ns = kBegin;
  plan.duration_ns = 600 * kNanosPerSecond;
  return plan;
}

// Ranks have spans, and their tables are not in label order.
TEST(SealingMemory, RankSealingNeedsLessMemoryThanWindow) {
  loadgen::LoadPlan plan = Plan();
  plan.nodes = 13;
  plan.cores = 1;
  plan.interval_ns = 10 * kNanosPerSecond;
  plan.step_ns = kNanosPerSecond;
  ASSERT_TRUE(loadgen::CheckPlan(plan).ok());
  ASSERT_TRUE(loadgen::CompleteFaults(0, &plan).ok());
  const Taken taken = SealLargest(plan);
  ASSERT_GT(taken.samples, 4'000'000u);
  EXPECT_LT(taken.sealing, taken.kept) << taken.samples << " samples";
}

// Nodes have few tables with many columns. Tables are unpacked one at a time.
TEST(SealingMemory, NodeSealingNeedsLessMemoryThanWindow) {
  loadgen::LoadPlan plan = Plan();
  plan.nodes = 8;
  plan.step_ns = 2 * kNanosPerSecond;
  ASSERT_TRUE(loadgen::CheckPlan(plan).ok());
  ASSERT_TRUE(loadgen::CompleteFaults(0, &plan).ok());
  const Taken taken = SealLargest(plan);
  ASSERT_GT(taken.samples, 10'000'000u);
  EXPECT_LT(taken.sealing, taken.kept) << taken.samples << " samples";
}

}  // namespace
}  // namespace pitwall::history
