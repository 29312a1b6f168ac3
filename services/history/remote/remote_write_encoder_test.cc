// Tests for mirrored samples and the ends of series.
#include "services/history/remote/remote_write_encoder.h"
#include "services/base/time.h"

#include <gtest/gtest.h>

#include "services/history/windows/testing/batches.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

constexpr int64_t kMs = kNanosPerMilli;
constexpr int64_t kBeginMs = kBegin / kMs;

Labels Gpu(std::string_view gpu) {
  return Labels({{kMetricName, "hw_power_watts"}, {"gpu", gpu}, {"node", "node-1"}});
}

struct Sent {
  std::string labels;
  int64_t after_ms;
  double value;
  bool operator==(const Sent& other) const {
    return labels == other.labels && after_ms == other.after_ms &&
           std::bit_cast<uint64_t>(value) == std::bit_cast<uint64_t>(other.value);
  }
};
std::ostream& operator<<(std::ostream& out, const Sent& s) {
  return out << s.labels << " @" << s.after_ms << " " << s.value;
}

class RemoteWriteEncoderTest : public ::testing::Test {
 protected:
  void Take(OwnedBatch& batch, bool warm_up = false) {
    mirror_.Take(batch.batch, batch.batch.promise.ns(), warm_up);
  }
  std::vector<Sent> Pending() {
    std::vector<Sent> out;
    for (const MirroredSample& s : mirror_.Pending())
      out.push_back({std::string(s.series->labels.Get("gpu")), s.time_ms - kBeginMs, s.value});
    mirror_.Forget();
    return out;
  }
  OwnedBatch Batch(uint64_t sequence, const Schema& schema, std::vector<int64_t> after_ms,
                   std::vector<double> cells, std::string source = "node-1") {
    OwnedBatch out(std::move(source), sequence);
    out.batch.schemas.emplace_back(schema);
    for (int64_t& time : after_ms) time = kBegin + time * kMs;
    out.Rows(schema, std::move(after_ms), std::move(cells));
    return out;
  }

  const Schema both_ = SchemaOf(1, {Gpu("0"), Gpu("1")});
  const Schema one_ = SchemaOf(1, {Gpu("0")});
  RemoteWriteEncoder mirror_{{}};
};

TEST_F(RemoteWriteEncoderTest, LabelsMatchPrometheusApi) {
  OwnedBatch batch = Batch(1, one_, {0}, {5});
  Take(batch);
  ASSERT_EQ(mirror_.Pending().size(), 1U);
  EXPECT_EQ(mirror_.Pending()[0].series->labels.ToString(),
            R"(hw_power_watts{gpu="0",node="node-1",pitwall_job="job-1"})");
}

TEST_F(RemoteWriteEncoderTest, SeriesAreInTimeOrderWithoutDuplicates) {
  OwnedBatch first = Batch(1, both_, {0, 500}, {1, 2, 3, MissingValue()});
  OwnedBatch second = Batch(2, both_, {1000}, {5, 6});
  Take(first);
  Take(second);
  Take(first);
  EXPECT_EQ(
      Pending(),
      (std::vector<Sent>{{"0", 0, 1}, {"0", 500, 3}, {"0", 1000, 5}, {"1", 0, 2}, {"1", 1000, 6}}));
  EXPECT_EQ(mirror_.counts().duplicates, 1U);
}

TEST_F(RemoteWriteEncoderTest, OnlyDroppedSeriesGetsMarker) {
  OwnedBatch first = Batch(1, both_, {0}, {1, 2});
  OwnedBatch second = Batch(2, one_, {500}, {3});
  Take(first);
  Take(second);
  EXPECT_EQ(Pending(), (std::vector<Sent>{
                           {"0", 0, 1}, {"1", 0, 2}, {"1", 500, StaleMarker()}, {"0", 500, 3}}));
}

TEST_F(RemoteWriteEncoderTest, GoodbyeEndsCurrentSeriesOnce) {
  OwnedBatch first = Batch(1, one_, {0}, {1});
  OwnedBatch last("node-1", 2);
  last.batch.promise = EventTime::FromNs(kBegin + 200 * kMs);
  last.batch.goodbye = true;
  Take(first);
  Take(last);
  EXPECT_EQ(Pending(), (std::vector<Sent>{{"0", 0, 1}, {"0", 201, StaleMarker()}}));
  OwnedBatch again("node-1", 3);
  again.batch.promise = EventTime::FromNs(kBegin + 300 * kMs);
  again.batch.goodbye = true;
  Take(again);
  EXPECT_EQ(Pending(), std::vector<Sent>());
}

TEST_F(RemoteWriteEncoderTest, MarkerNeverReplacesLastSample) {
  OwnedBatch batch = Batch(1, one_, {7}, {1});
  batch.batch.promise = EventTime::FromNs(kBegin + 7 * kMs);
  batch.batch.goodbye = true;
  Take(batch);
  EXPECT_EQ(Pending(), (std::vector<Sent>{{"0", 7, 1}, {"0", 8, StaleMarker()}}));
}

TEST_F(RemoteWriteEncoderTest, SilentSourceEndsWhileJobContinues) {
  OwnedBatch lost = Batch(1, one_, {0}, {1}, "lost");
  Take(lost);
  const Schema other = SchemaOf(2, {Gpu("9")});
  OwnedBatch near = Batch(1, other, {5000}, {2}, "other");
  Take(near);
  EXPECT_EQ(Pending(), (std::vector<Sent>{{"0", 0, 1}, {"9", 5000, 2}}));
  OwnedBatch far = Batch(2, other, {6000}, {3}, "other");
  Take(far);
  EXPECT_EQ(Pending(), (std::vector<Sent>{{"0", 1, StaleMarker()}, {"9", 6000, 3}}));
  OwnedBatch back = Batch(2, one_, {6500}, {4}, "lost");
  Take(back);
  EXPECT_EQ(Pending(), (std::vector<Sent>{{"0", 6500, 4}}));
}

TEST_F(RemoteWriteEncoderTest, WarmUpDoesNotSendSamples) {
  OwnedBatch first = Batch(1, both_, {0}, {1, 2});
  Take(first, true);
  EXPECT_EQ(Pending(), std::vector<Sent>());
  OwnedBatch without = Batch(2, both_, {500}, {3, 4});
  without.batch.schemas.clear();
  Take(without);
  EXPECT_EQ(Pending(), (std::vector<Sent>{{"0", 500, 3}, {"1", 500, 4}}));
}

TEST_F(RemoteWriteEncoderTest, UnsentSamplesAreCounted) {
  OwnedBatch unknown = Batch(1, both_, {0, 500}, {1, 2, 3, 4});
  unknown.batch.schemas.clear();
  Take(unknown);
  EXPECT_EQ(mirror_.counts().no_schema, 4U);
  OwnedBatch ahead = Batch(2, one_, {100'000}, {1});
  mirror_.Take(ahead.batch, kBegin, false);
  EXPECT_EQ(mirror_.counts().ahead, 1U);
  OwnedBatch close = Batch(3, one_, {200'000}, {1});
  close.Rows(one_, {kBegin + 200'000 * kMs + 1}, {2});
  Take(close);
  EXPECT_EQ(Pending(), (std::vector<Sent>{{"0", 200'000, 2}}));
  EXPECT_EQ(mirror_.counts().merged, 1U);
}

TEST_F(RemoteWriteEncoderTest, FilterSelectsMetricsAndLabels) {
  MirrorFilter filter;
  filter.metrics.push_back(*Matcher::Make("", MatchOp::kRegex, "hw_.*"));
  filter.labels.push_back(*Matcher::Make("", MatchOp::kRegex, "no.e"));
  RemoteWriteEncoder mirror(std::move(filter));
  const Schema schema =
      SchemaOf(1, {Gpu("0"), Gpu("1"), Labels({{kMetricName, "train_loss"}, {"rank", "0"}})});
  OwnedBatch batch = Batch(1, schema, {0}, {1, 2, 3});
  mirror.Take(batch.batch, kBegin, false);
  ASSERT_EQ(mirror.Pending().size(), 1U);  // the filter makes two series equal, so only one is sent
  EXPECT_EQ(mirror.Pending()[0].series->labels.ToString(),
            R"(hw_power_watts{node="node-1",pitwall_job="job-1"})");
  EXPECT_EQ(mirror.counts().merged, 1U);
}

TEST_F(RemoteWriteEncoderTest, IdleStateIsDropped) {
  OwnedBatch first = Batch(1, both_, {0}, {1, 2});
  Take(first);
  Pending();
  EXPECT_EQ(mirror_.series(), 2U);
  OwnedBatch later = Batch(1, one_, {2 * 3'600'000}, {1}, "other");
  later.batch.job = "job-2";
  Take(later);
  Pending();
  EXPECT_EQ(mirror_.series(), 1U);
}

// A job runs for days and gets a new boot with each restart. Only its latest boots are kept.
TEST_F(RemoteWriteEncoderTest, OldBootIsDroppedWhileItsJobContinues) {
  OwnedBatch old = Batch(1, one_, {0}, {1}, "old");
  old.batch.goodbye = true;
  Take(old);
  Take(old);
  EXPECT_EQ(mirror_.counts().duplicates, 1U);
  for (const int64_t hours : {1, 2}) {
    OwnedBatch on = Batch(static_cast<uint64_t>(hours), one_, {hours * 3'600'001}, {1}, "on");
    Take(on);
    Pending();
  }
  Take(old);
  EXPECT_EQ(mirror_.counts().duplicates, 1U);
}

}  // namespace
}  // namespace pitwall::history
