#include "rules/check/metric_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text/strings.h"

namespace pitwall::check {
namespace {

TEST(Catalog, BuiltinCatalogIsConsistent) {
  const MetricCatalog& catalog = MetricCatalog::Builtin();
  EXPECT_GE(catalog.metrics().size(), 35U);
  for (const MetricInfo& metric : catalog.metrics()) {
    SCOPED_TRACE(metric.name);
    if (metric.producer == Producer::kForeign)
      continue;  // third-party exporters use their own naming scheme
    // Metric names end with the unit, and counter names with _total, as in the
    // OpenTelemetry-to-Prometheus translation.
    if (metric.unit != "1" && metric.name != "ALERTS_FOR_STATE") {
      EXPECT_NE(metric.name.find(Cat("_", metric.unit)), std::string::npos);
    }
    EXPECT_EQ(EndsWith(metric.name, "_total"), metric.kind == MetricKind::kCounter);
    EXPECT_EQ(StartsWith(metric.name, "train_"), metric.producer == Producer::kClient);
  }
  ASSERT_NE(catalog.Find("hw_gpu_utilization_ratio"), nullptr);
  EXPECT_FALSE(catalog.Find("hw_gpu_utilization_ratio")->has_steps);
  EXPECT_TRUE(catalog.Find("train_loss")->has_steps);
  EXPECT_EQ(catalog.Find("DCGM_FI_DEV_GPU_UTIL")->name, "hw_gpu_utilization_ratio");
  EXPECT_EQ(catalog.Find("node_cpu_seconds_total")->producer, Producer::kForeign);
  EXPECT_EQ(catalog.Find("nobody"), nullptr);
}

TEST(Catalog, RejectsInvalidFiles) {
  const StatusOr<MetricCatalog> catalog = MetricCatalog::Parse(
      "m.yaml",
      "metrics:\n- {name: a, unit: s, kind: gouge, clock: time, producer: client, help: h}\n"
      "- {name: a, unit: s, kind: gauge, clock: time, producer: client, help: h, typo: 1}\n");
  ASSERT_FALSE(catalog.ok());
  EXPECT_EQ(ToStd(catalog.status().message()),
            "m.yaml:2:22: \"kind\" must be one of gauge, counter, found \"gouge\"\n"
            "m.yaml:3:75: unknown key \"typo\" in a metric\n"
            "m.yaml:3:3: metric \"a\" is a duplicate");
}

}  // namespace
}  // namespace pitwall::check
