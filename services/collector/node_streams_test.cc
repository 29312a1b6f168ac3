#include "services/collector/node_streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/collector/files/testing/temporary_root.h"
#include "tests/fakes/fake_clock.h"

namespace pitwall::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecond = kNanosPerSecond;
constexpr uint32_t kCoreStream = 2;
constexpr uint32_t kGpuStream = 3;

// Reader for one series with the constant value 1.
class OneReader final : public SeriesReader {
 public:
  bool Read() override { return std::exchange(first_, false); }
  void Describe(std::vector<SeriesDescriptor>* out) const override {
    out->push_back(NodeSeries(context_, SeriesKind::kGauge, "one", {}));
  }
  double* Fill(double* row) const override {
    *row = 1;
    return row + 1;
  }

 private:
  const ReaderContext context_{"/", "n1", nullptr};
  bool first_ = true;
};

class JobStreamsTest : public ::testing::Test {
 protected:
  Batch Publish(int64_t tick_ns) {
    Batch batch;
    job_.AppendTo(shared_, tick_ns, &batch);
    return batch;
  }
  static std::vector<uint32_t> Schemas(const Batch& batch) {
    std::vector<uint32_t> streams;
    for (const auto& schema : batch.schemas) streams.push_back(schema->stream);
    return streams;
  }

  TestRoot root_;  // an empty machine, on which the shared streams have no series
  fakes::FakeClock clock_;
  MonotonicEventClock time_{clock_};
  Counters counters_;
  SharedStreams shared_{ReaderContext{root_.path(), "n1", &counters_}, clock_, time_};
  JobStreams job_{true};
};

TEST_F(JobStreamsTest, Schema_IsSentOnceAndRepeatedAfterFiveSeconds) {
  job_.SetGpus(ListReaders(std::make_unique<OneReader>()));
  job_.Sample(10 * kSecond);
  EXPECT_THAT(Schemas(Publish(10 * kSecond)), ElementsAre(kGpuStream));
  job_.Clear();
  job_.Sample(11 * kSecond);
  const Batch second = Publish(11 * kSecond);
  EXPECT_THAT(Schemas(second), IsEmpty());
  EXPECT_EQ(second.frames.size(), 1u);
  job_.Clear();
  job_.Sample(15 * kSecond);
  EXPECT_THAT(Schemas(Publish(15 * kSecond)), ElementsAre(kGpuStream));
}

TEST_F(JobStreamsTest, WithdrawnCores_EndOnceWithEmptySchema) {
  job_.SetCores(false);
  const Batch batch = Publish(10 * kSecond);
  EXPECT_THAT(Schemas(batch), ElementsAre(kCoreStream));
  ASSERT_EQ(batch.frames.size(), 1u);
  EXPECT_THAT(batch.frames[0].times, ElementsAre(10 * kSecond));
  EXPECT_THAT(Publish(11 * kSecond).frames, IsEmpty());
}

TEST_F(JobStreamsTest, NeverAssignedCores_AreNotWithdrawn) {
  JobStreams without(false);
  without.SetCores(false);
  Batch batch;
  without.AppendTo(shared_, 10 * kSecond, &batch);
  EXPECT_THAT(batch.frames, IsEmpty());
}

}  // namespace
}  // namespace pitwall::collector
