#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/base/text/strings.h"
#include "services/collector/readers/testing/readers.h"

namespace pitwall::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr const char* kCorrected = "system_memory_errors_total corrected";
constexpr const char* kUncorrected = "system_memory_errors_total uncorrected";

class MemoryErrorsReaderTest : public ReadersTest {
 protected:
  void Controller(std::string_view name, std::string_view corrected, std::string_view uncorrected) {
    root_.Write(Cat("sys/devices/system/edac/mc/", name, "/ce_count"), corrected);
    root_.Write(Cat("sys/devices/system/edac/mc/", name, "/ue_count"), uncorrected);
  }
  // Returns the values of the next reading.
  std::map<std::string, double> Next() {
    clock_.Advance(10 * kNanosPerSecond);
    return Values(*reader_);
  }

  const std::unique_ptr<SeriesReader> reader_ = NewMemoryErrorsReader(context_);
};

TEST_F(MemoryErrorsReaderTest, SumsErrorsOfAllControllers) {
  Controller("mc0", "3\n", "0\n");
  Controller("mc1", "4\n", "1\n");
  Controller("mcx", "9\n", "9\n");
  root_.Write("sys/devices/system/edac/mc/power/control", "auto\n");
  EXPECT_THAT(Next(), ElementsAre(Pair(kCorrected, 7), Pair(kUncorrected, 1)));
  EXPECT_TRUE(changed_);
  Controller("mc1", "5\n", "1\n");
  EXPECT_THAT(Values(*reader_), ElementsAre(Pair(kCorrected, 7), Pair(kUncorrected, 1)));
  EXPECT_THAT(Next(), ElementsAre(Pair(kCorrected, 8), Pair(kUncorrected, 1)));
  EXPECT_FALSE(changed_);
  EXPECT_EQ(Errors(), 0u);
}

TEST_F(MemoryErrorsReaderTest, NodeWithoutControllersHasNoSeries) {
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_FALSE(changed_);
  EXPECT_EQ(missing_, 0);
  EXPECT_EQ(Errors(), 0u);
  Controller("mc0", "0\n", "0\n");  // the driver is loaded later
  EXPECT_THAT(Next(), ElementsAre(Pair(kCorrected, 0), Pair(kUncorrected, 0)));
  EXPECT_TRUE(changed_);
}

TEST_F(MemoryErrorsReaderTest, DamagedCounterMakesItsSumMissing) {
  Controller("mc0", "3\n", "1\n");
  Controller("mc1", "x\n", "2\n");
  EXPECT_THAT(Next(), ElementsAre(Pair(kUncorrected, 3)));
  EXPECT_EQ(missing_, 1);
  EXPECT_EQ(Errors(), 1u);
}

TEST_F(MemoryErrorsReaderTest, RemovedController_DoesNotLookLikeReset) {
  Controller("mc0", "3\n", "1\n");
  Controller("mc1", "4\n", "2\n");
  EXPECT_THAT(Next(), ElementsAre(Pair(kCorrected, 7), Pair(kUncorrected, 3)));
  std::filesystem::remove_all(root_.At("sys/devices/system/edac/mc/mc1"));
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_EQ(missing_, 2);
  EXPECT_FALSE(changed_);
  EXPECT_EQ(Errors(), 2u);
  Controller("mc1", "4\n", "2\n");
  EXPECT_THAT(Next(), ElementsAre(Pair(kCorrected, 7), Pair(kUncorrected, 3)));
}

}  // namespace
}  // namespace pitwall::collector
