#include "services/loadgen/nodes/node_stream.h"

#include <gtest/gtest.h>

namespace pitwall::loadgen {
namespace {

std::vector<SeriesDescriptor> SeriesOf(const NodeStream& stream, std::string_view name) {
  return {stream.Series(SeriesKind::kGauge, name, {{"state", "used"}})};
}

TEST(NodeStream, SeriesHaveNodeLabel) {
  const NodeStream stream(1, "n1");
  const SeriesDescriptor series = stream.Series(SeriesKind::kGauge, "m", {{"state", "used"}});
  EXPECT_EQ(series.labels.ToString(), "m{node=\"n1\",state=\"used\"}");
}

TEST(NodeStream, SchemaIsSentOnceUnlessRepeated) {
  NodeStream stream(2, "n1");
  stream.SetSchema(SeriesOf(stream, "m"));
  EXPECT_EQ(stream.width(), 1U);
  const std::vector<int64_t> times = {5};
  stream.values() = {7};
  Batch batch;
  EXPECT_EQ(stream.AppendTo(false, times, &batch), 1U);
  ASSERT_EQ(batch.schemas.size(), 1U);
  EXPECT_EQ(batch.schemas[0]->stream, 2U);
  ASSERT_EQ(batch.frames.size(), 1U);
  EXPECT_EQ(batch.frames[0].schema_id, batch.schemas[0]->id);
  EXPECT_EQ(stream.AppendTo(false, times, &batch), 1U);
  EXPECT_EQ(batch.schemas.size(), 1U);
  stream.AppendTo(/*repeat=*/true, times, &batch);
  EXPECT_EQ(batch.schemas.size(), 2U);
  stream.SetSchema(SeriesOf(stream, "other"));
  stream.AppendTo(false, times, &batch);
  EXPECT_EQ(batch.schemas.size(), 3U);
}

TEST(NodeStream, StreamWithoutSeriesIsNotSent) {
  NodeStream stream(4, "n1");
  Batch batch;
  EXPECT_EQ(stream.AppendTo(false, {}, &batch), 0U);
  EXPECT_TRUE(batch.frames.empty());
}

TEST(NodeStream, SizesAreRoundedDownToPages) {
  EXPECT_EQ(Pages(4096), 4096);
  EXPECT_EQ(Pages(8191), 4096);
  EXPECT_EQ(Pages(100), 0);
}

}  // namespace
}  // namespace pitwall::loadgen
