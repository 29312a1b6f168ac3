#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "services/adapters/files/file.h"
#include "services/adapters/store/segment_reader.h"
#include "services/adapters/store/segment_writer.h"
#include "services/base/strings.h"
#include "services/model/value.h"

namespace pitwall::store {
namespace {

using ::testing::HasSubstr;
using Rng = std::mt19937_64;

struct Rows {
  std::vector<int64_t> times;
  std::vector<std::vector<double>> values;
  std::vector<std::string> texts;
};

class SegmentTest : public ::testing::Test {
 protected:
  SegmentTest()
      : dir_(::testing::TempDir() +
             Cat("segment_", ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    EXPECT_TRUE(files::RemoveTree(dir_).ok());
    EXPECT_TRUE(files::MakeDirectories(dir_).ok());
  }
  ~SegmentTest() override { EXPECT_TRUE(files::RemoveTree(dir_).ok()); }

  static Rows RandomRows(Rng* rng, size_t series, bool texts) {
    Rows out;
    const size_t count = 1 + (*rng)() % 200;
    int64_t time = 1'790'000'000'000'000'000;
    for (size_t i = 0; i < count; ++i)
      out.times.push_back(time += static_cast<int64_t>((*rng)() % 1'000'000));
    out.values.resize(series);
    for (auto& column : out.values) {
      for (size_t i = 0; i < count; ++i) {
        column.push_back((*rng)() % 10 == 0 ? MissingValue()
                                            : static_cast<double>((*rng)() % 50) / 50);
      }
    }
    for (size_t i = 0; texts && i < count; ++i) out.texts.push_back(Cat("phase ", (*rng)() % 5));
    return out;
  }
  static std::vector<ColumnRows> Columns(const Rows& rows) {
    std::vector<ColumnRows> out = {std::span<const int64_t>(rows.times)};
    for (const auto& column : rows.values) out.emplace_back(std::span<const double>(column));
    if (!rows.texts.empty()) out.emplace_back(std::span<const std::string>(rows.texts));
    return out;
  }
  // Two tables, several groups each.
  std::vector<std::vector<Rows>> WriteSegment(const std::string& path, uint64_t seed) {
    Rng rng(seed);
    auto writer = SegmentWriter::Create(path);
    EXPECT_TRUE(writer.ok()) << writer.status();
    std::vector<std::vector<Rows>> all(2);
    const std::vector<ColumnType> samples = {ColumnType::kInt, ColumnType::kValue,
                                             ColumnType::kValue};
    const std::vector<ColumnType> spans = {ColumnType::kInt, ColumnType::kText};
    EXPECT_EQ((*writer)->AddTable(TableKind::kSamples, "node a", samples).value(), 0u);
    EXPECT_EQ((*writer)->AddTable(TableKind::kSpans, "rank 1", spans).value(), 1u);
    std::vector<blocks::FormHint> hints(3);
    for (int g = 0; g < 4; ++g) {
      for (size_t t = 0; t < 2; ++t) {
        all[t].push_back(RandomRows(&rng, t == 0 ? 2 : 0, t == 1));
        const Status added = (*writer)->AddRows(t, Columns(all[t].back()), hints.data());
        EXPECT_TRUE(added.ok()) << added;
      }
    }
    const auto file = (*writer)->Finish();
    EXPECT_TRUE(file.ok()) << file.status();
    return all;
  }
  // Everything in it, or the error.
  static StatusOr<std::vector<std::vector<Rows>>> ReadSegment(const std::string& path) {
    ASSIGN_OR_RETURN(const auto reader, SegmentReader::Open(path));
    blocks::BlockDecoder decoder;
    std::vector<std::vector<Rows>> out;
    for (const Table& table : reader->tables()) {
      auto& groups = out.emplace_back();
      for (size_t g = 0; g < table.groups.size(); ++g) {
        Rows rows;
        for (size_t c = 0; c < table.columns.size(); ++c) {
          if (table.columns[c] == ColumnType::kInt) {
            RETURN_IF_ERROR(reader->ReadInts(table, g, c, &rows.times));
          } else if (table.columns[c] == ColumnType::kValue) {
            RETURN_IF_ERROR(reader->ReadValues(table, g, c, &decoder, &rows.values.emplace_back()));
          } else {
            RETURN_IF_ERROR(reader->ReadTexts(table, g, c, &rows.texts));
          }
        }
        groups.push_back(std::move(rows));
      }
    }
    return out;
  }
  static bool Equal(const std::vector<std::vector<Rows>>& a,
                    const std::vector<std::vector<Rows>>& b) {
    const auto same_bits = [](double x, double y) {
      return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
    };
    const auto same_rows = [&](const Rows& x, const Rows& y) {
      return x.times == y.times && x.texts == y.texts &&
             std::equal(x.values.begin(), x.values.end(), y.values.begin(), y.values.end(),
                        [&](const auto& v, const auto& w) {
                          return std::equal(v.begin(), v.end(), w.begin(), w.end(), same_bits);
                        });
    };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end(), same_rows);
    });
  }

  const std::string dir_;
};

TEST_F(SegmentTest, GivesBackWhatWasWritten) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::string path = Cat(dir_, "/", seed, ".seg");
    const auto written = WriteSegment(path, seed);
    const auto read = ReadSegment(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(Equal(written, *read)) << "seed " << seed;
  }
}

TEST_F(SegmentTest, SummariesAreOfTheValuesThatAreThere) {
  const std::string path = dir_ + "/s.seg";
  auto writer = SegmentWriter::Create(path);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(
      (*writer)
          ->AddTable(TableKind::kSamples, "",
                     {ColumnType::kInt, ColumnType::kValue, ColumnType::kValue, ColumnType::kValue})
          .ok());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<int64_t> times = {30, 10, 20};
  const std::vector<double> some = {2, MissingValue(), -1};
  const std::vector<double> none(3, MissingValue());
  const std::vector<double> with_nan = {5, nan, 3};
  const std::vector<ColumnRows> rows = {
      std::span<const int64_t>(times), std::span<const double>(some), std::span<const double>(none),
      std::span<const double>(with_nan)};
  ASSERT_TRUE((*writer)->AddRows(0, rows, nullptr).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  EXPECT_TRUE((*SegmentReader::Open(path))->tables()[0].groups[0].summaries.empty());
  const auto reader = SegmentReader::Open(path, true);
  ASSERT_TRUE(reader.ok());
  const RowGroup& group = (*reader)->tables()[0].groups[0];
  EXPECT_EQ(group.first_ns, 10);
  EXPECT_EQ(group.last_ns, 30);
  const ValueSummary& first = group.summaries[1];
  EXPECT_EQ(first.count, 2u);
  EXPECT_EQ(first.min, -1);
  EXPECT_EQ(first.max, 2);
  EXPECT_EQ(first.sum, 1);
  EXPECT_EQ(first.last, -1);
  EXPECT_EQ(group.summaries[2].count, 0u);
  EXPECT_EQ(group.summaries[3].min, 3);
  EXPECT_EQ(group.summaries[3].max, 5);
  EXPECT_TRUE(std::isnan(group.summaries[3].sum));
}

TEST_F(SegmentTest, AFlippedBitIsFoundWhereverItIs) {
  const std::string path = dir_ + "/whole.seg";
  const auto written = WriteSegment(path, 5);
  ASSERT_TRUE(Equal(written, ReadSegment(path).value()));
  const std::string whole = files::ReadWhole(path, 1 << 24).value();
  Rng rng(6);
  int refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string damaged = whole;
    const size_t at = rng() % damaged.size();
    damaged[at] ^= static_cast<char>(1u << rng() % 8);
    ASSERT_TRUE(files::ReplaceFile(dir_ + "/damaged.seg", damaged, nullptr).ok());
    const auto read = ReadSegment(dir_ + "/damaged.seg");
    ASSERT_FALSE(read.ok()) << "byte " << at << " of " << damaged.size();
    EXPECT_THAT(std::string(read.status().message()), HasSubstr("damaged.seg"));
    ++refused;
  }
  EXPECT_EQ(refused, 400);
}

// Every form of an earlier version is one of the next: a file of it differs in its head.
TEST_F(SegmentTest, ReadsTheEarlierVersionsAndNoUnknownOne) {
  const std::string path = dir_ + "/a.seg";
  WriteSegment(path, 4);
  for (const char version : {1, 2, 3, 4}) {
    const auto file = files::File::Open(path, files::File::Mode::kWrite).value();
    ASSERT_TRUE(file->WriteAt(4, std::string(1, version)).ok());
    const auto reader = SegmentReader::Open(path);
    ASSERT_EQ(reader.ok(), version < 4);
    EXPECT_TRUE(!reader.ok() || (*reader)->CheckAll().ok());
  }
}

TEST_F(SegmentTest, ACutFileIsRefused) {
  const std::string path = dir_ + "/whole.seg";
  WriteSegment(path, 7);
  const std::string whole = files::ReadWhole(path, 1 << 24).value();
  for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 200) {
    ASSERT_TRUE(files::ReplaceFile(dir_ + "/cut.seg", whole.substr(0, size), nullptr).ok());
    EXPECT_FALSE(SegmentReader::Open(dir_ + "/cut.seg").ok()) << size;
  }
}

TEST_F(SegmentTest, WhatIsNotFinishedIsNotThere) {
  const std::string path = dir_ + "/a.seg";
  {
    auto writer = SegmentWriter::Create(path);
    ASSERT_TRUE(writer.ok());
    EXPECT_TRUE(files::Exists(path + ".part"));
  }
  EXPECT_FALSE(files::Exists(path + ".part"));
  EXPECT_FALSE(files::Exists(path));
}

TEST_F(SegmentTest, AFullDiskIsAnErrorAndLeavesNothing) {
  const auto faults = std::make_shared<files::DiskFaults>();
  auto writer = SegmentWriter::Create(dir_ + "/full.seg", faults);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->AddTable(TableKind::kEvents, "e", {ColumnType::kInt}).ok());
  const std::vector<int64_t> times = {1, 2, 3};
  const std::vector<ColumnRows> rows = {std::span<const int64_t>(times)};
  ASSERT_TRUE((*writer)->AddRows(0, rows, nullptr).ok());
  faults->SetSpace(10);
  EXPECT_EQ((*writer)->Finish().status().code(), absl::StatusCode::kResourceExhausted);
  writer->reset();
  EXPECT_TRUE(files::ListDirectory(dir_).value().empty());
}

TEST_F(SegmentTest, RefusesRowsThatAreNotTheTables) {
  auto writer = SegmentWriter::Create(dir_ + "/r.seg");
  ASSERT_TRUE(writer.ok());
  EXPECT_FALSE((*writer)->AddTable(TableKind::kSamples, "", {ColumnType::kValue}).ok());
  ASSERT_TRUE(
      (*writer)->AddTable(TableKind::kSamples, "", {ColumnType::kInt, ColumnType::kValue}).ok());
  const std::vector<int64_t> times = {1, 2};
  const std::vector<double> values = {1};
  const std::vector<ColumnRows> shorter = {std::span<const int64_t>(times),
                                           std::span<const double>(values)};
  EXPECT_FALSE((*writer)->AddRows(0, shorter, nullptr).ok());
  const std::vector<ColumnRows> fewer = {std::span<const int64_t>(times)};
  EXPECT_FALSE((*writer)->AddRows(0, fewer, nullptr).ok());
  const std::vector<ColumnRows> other = {std::span<const int64_t>(times),
                                         std::span<const int64_t>(times)};
  EXPECT_FALSE((*writer)->AddRows(0, other, nullptr).ok());
}

}  // namespace
}  // namespace pitwall::store
