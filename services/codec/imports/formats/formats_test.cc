#include "services/codec/imports/formats/formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/model/position.h"

namespace pitwall::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Formats each series and sample as one line.
class Lines final : public SampleSink {
 public:
  Status NewSeries(uint32_t series, Labels labels, std::string_view mode) override {
    lines.push_back(Cat(series, " ", labels.Name(), " ", mode));
    return OkStatus();
  }
  Status Sample(uint32_t series, int64_t time_ns, int64_t step, double value, uint32_t) override {
    lines.push_back(Cat(series, " ", time_ns / kNanosPerMilli, step == kNoStep ? "" : " step", " ",
                        FormatDouble(value)));
    return OkStatus();
  }
  std::vector<std::string> lines;
};

const OptionValue kNoOptions = [](std::string_view) { return std::nullopt; };

TEST(Formats, EachRow_HasItsOwnNameAndTexts) {
  std::set<std::string_view> names;
  for (const Format& format : Formats()) {
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_EQ(FindFormat(format.name), &format);
    EXPECT_FALSE(format.no_samples.empty()) << format.name;
    EXPECT_EQ(format.wanted == nullptr, format.expected.empty()) << format.name;
    ASSERT_NE(format.configure, nullptr) << format.name;
    EXPECT_EQ(format.configure(kNoOptions, "job").ok(), format.options.empty()) << format.name;
  }
  EXPECT_EQ(FindFormat("log"), nullptr);
}

TEST(Formats, CsvWithoutMapping_NamesOption) {
  const auto importer = FindFormat("csv")->configure(kNoOptions, "job");
  EXPECT_THAT(std::string(importer.status().message()), HasSubstr("--mapping: value is missing"));
}

TEST(Formats, OpenMetrics_DialectFollowsTail) {
  const Format& format = *FindFormat("openmetrics");
  const auto importer = format.configure(kNoOptions, "job");
  ASSERT_TRUE(importer.ok()) << importer.status();
  const std::string text = "a 1 1700000000000\n";  // milliseconds, and no # EOF
  Lines prometheus, metrics;
  auto reader = (*importer)("input", &prometheus);
  ASSERT_TRUE(reader->BeginFile("a.prom", text).ok());
  EXPECT_TRUE(reader->Feed(text).ok());
  EXPECT_TRUE(reader->EndFile(false).ok());
  EXPECT_THAT(prometheus.lines, ElementsAre("0 a ", "0 1700000000000 1"));
  reader = (*importer)("input", &metrics);
  ASSERT_TRUE(reader->BeginFile("a.prom", std::nullopt).ok());
  EXPECT_TRUE(reader->Feed("a 1 1700000000\n# EOF\n").ok());  // seconds
  EXPECT_TRUE(reader->EndFile(false).ok());
  EXPECT_THAT(metrics.lines, ElementsAre("0 a ", "0 1700000000000 1"));
}

}  // namespace
}  // namespace pitwall::imports
