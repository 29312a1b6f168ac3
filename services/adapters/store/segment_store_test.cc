#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "services/adapters/files/file.h"
#include "services/adapters/store/segment_reader.h"
#include "services/adapters/store/segment_writer.h"
#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/blocks/zstd_text.h"
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
  // Writes two tables with several groups each.
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
  // Returns the entire content, or the error.
  static StatusOr<std::vector<std::vector<Rows>>> ReadSegment(const std::string& path) {
    ASSIGN_OR_RETURN(const auto reader, SegmentReader::Open(path));
    blocks::BlockDecoder decoder;
    std::vector<std::vector<Rows>> out;
    for (size_t number = 0; number < reader->entries().size(); ++number) {
      ASSIGN_OR_RETURN(const TablePtr table, reader->TableAt(number));
      auto& groups = out.emplace_back();
      for (size_t g = 0; g < table->groups.size(); ++g) {
        Rows rows;
        for (size_t c = 0; c < table->columns.size(); ++c) {
          if (table->columns[c] == ColumnType::kInt) {
            RETURN_IF_ERROR(reader->ReadInts(*table, g, c, &rows.times));
          } else if (table->columns[c] == ColumnType::kValue) {
            RETURN_IF_ERROR(
                reader->ReadValues(*table, g, c, &decoder, &rows.values.emplace_back()));
          } else {
            RETURN_IF_ERROR(reader->ReadTexts(*table, g, c, &rows.texts));
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

  static size_t EndOfPages(const SegmentReader& reader) {
    size_t end = 0;
    for (size_t number = 0; number < reader.entries().size(); ++number) {
      const TablePtr table = reader.TableAt(number).value();
      for (const RowGroup& group : table->groups) {
        for (const Page& page : group.pages) end = std::max<size_t>(end, page.offset + page.bytes);
      }
    }
    return end;
  }

  const std::string dir_;
};

TEST_F(SegmentTest, RoundTripPreservesRows) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::string path = Cat(dir_, "/", seed, ".seg");
    const auto written = WriteSegment(path, seed);
    const auto read = ReadSegment(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(Equal(written, *read)) << "seed " << seed;
  }
}

TEST_F(SegmentTest, TableTimesAreAvailableBeforeDecoding) {
  const std::string path = dir_ + "/t.seg";
  WriteSegment(path, 3);
  auto writer = SegmentWriter::Create(dir_ + "/wide.seg");
  ASSERT_TRUE(writer.ok());
  // The data covers the full time range, groups in arbitrary order, and a table without rows.
  ASSERT_TRUE((*writer)->AddTable(TableKind::kEvents, "none", {ColumnType::kInt}).ok());
  ASSERT_TRUE((*writer)->AddTable(TableKind::kEvents, "all", {ColumnType::kInt}).ok());
  for (const std::vector<int64_t>& times :
       {std::vector<int64_t>{INT64_MAX}, {3, -5}, {INT64_MIN, 0}}) {
    const std::vector<ColumnRows> rows = {std::span<const int64_t>(times)};
    ASSERT_TRUE((*writer)->AddRows(1, rows, nullptr).ok());
  }
  ASSERT_TRUE((*writer)->Finish().ok());
  const auto wide = SegmentReader::Open(dir_ + "/wide.seg");
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_EQ((*wide)->entries()[0].groups, 0u);
  EXPECT_GT((*wide)->entries()[0].first_ns, (*wide)->entries()[0].last_ns);
  EXPECT_EQ((*wide)->entries()[1].key, "all");
  EXPECT_EQ((*wide)->entries()[1].first_ns, INT64_MIN);
  EXPECT_EQ((*wide)->entries()[1].last_ns, INT64_MAX);
  for (const char* name : {"/t.seg", "/wide.seg"}) {
    const auto reader = SegmentReader::Open(dir_ + name);
    ASSERT_TRUE(reader.ok()) << reader.status();
    for (size_t number = 0; number < (*reader)->entries().size(); ++number) {
      const TableEntry& entry = (*reader)->entries()[number];
      const TablePtr table = (*reader)->TableAt(number).value();
      EXPECT_EQ(table->key, entry.key);
      EXPECT_EQ(table->groups.size(), entry.groups);
      int64_t first = INT64_MAX, last = INT64_MIN;
      for (size_t g = 0; g < table->groups.size(); ++g) {
        std::vector<int64_t> times;
        ASSERT_TRUE((*reader)->ReadInts(*table, g, 0, &times).ok());
        const auto [least, greatest] = std::minmax_element(times.begin(), times.end());
        EXPECT_EQ(table->groups[g].first_ns, *least);
        EXPECT_EQ(table->groups[g].last_ns, *greatest);
        first = std::min(first, *least);
        last = std::max(last, *greatest);
      }
      EXPECT_EQ(entry.first_ns, first);
      EXPECT_EQ(entry.last_ns, last);
    }
  }
}

TEST_F(SegmentTest, DetectsEveryFlippedBit) {
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

TEST_F(SegmentTest, DetectsFlippedBitsInTrailer) {
  const std::string path = dir_ + "/whole.seg";
  WriteSegment(path, 8);
  const std::string whole = files::ReadWhole(path, 1 << 24).value();
  const size_t pages_end = EndOfPages(*SegmentReader::Open(path).value());
  ASSERT_LT(pages_end, whole.size() - kTrailerBytes - 100);
  const auto file = *files::File::Open(path, files::File::Mode::kWrite);
  const auto flip = [&](size_t at) {
    for (const bool damaged : {true, false}) {
      const char byte = static_cast<char>(whole[at] ^ (damaged ? 1 << at % 8 : 0));
      ASSERT_TRUE(file->WriteAt(static_cast<int64_t>(at), std::string(1, byte)).ok());
      const Status status = SegmentReader::Open(path).status();
      // A flipped bit of the version is another version.
      const bool version = at >= kSegmentMagic.size() && at < kHeadBytes;
      EXPECT_EQ(version ? absl::IsUnimplemented(status) : absl::IsDataLoss(status), damaged)
          << "byte " << at;
    }
  };
  for (size_t at = pages_end; at < whole.size(); ++at) flip(at);
  for (size_t at = 0; at < kHeadBytes; ++at) flip(at);
}

// A malformed footer with a valid checksum must be reported without excessive memory allocation.
TEST_F(SegmentTest, MalformedFooterIsReported) {
  const std::string path = dir_ + "/whole.seg";
  WriteSegment(path, 9);
  const auto reader = SegmentReader::Open(path).value();
  std::vector<Table> tables;
  for (size_t number = 0; number < reader->entries().size(); ++number)
    tables.push_back(*reader->TableAt(number).value());
  const std::string whole = EncodeFooter(tables);
  const uint64_t end = 1 << 20;
  const auto decode = [&](const std::string& bytes, uint64_t limit) -> Status {
    const auto footer = Footer::Read(bytes, limit);
    RETURN_IF_ERROR(footer.status());
    for (size_t number = 0; number < (*footer)->entries().size(); ++number)
      RETURN_IF_ERROR((*footer)->Decode(number).status());
    return OkStatus();
  };
  ASSERT_TRUE(decode(whole, end).ok());
  // The pages extend beyond the start of the footer.
  EXPECT_TRUE(absl::IsDataLoss(decode(whole, 100)));
  size_t told = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] ^= static_cast<char>(1u << bit);
      const Status status = decode(damaged, end);
      EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
      told += status.ok() ? 0 : 1;
    }
    EXPECT_TRUE(absl::IsDataLoss(decode(whole.substr(0, at), end))) << at;
  }
  EXPECT_GT(told, whole.size());
}

TEST_F(SegmentTest, OtherVersionsAreRejectedByNumber) {
  const std::string path = dir_ + "/a.seg";
  WriteSegment(path, 4);
  std::string whole = files::ReadWhole(path, 1 << 24).value();
  for (const char version : {0, 1, 2, 3, 5}) {
    whole[kSegmentMagic.size()] = version;
    ASSERT_TRUE(files::ReplaceFile(path, whole, nullptr).ok());
    const Status status = SegmentReader::Open(path).status();
    EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
    EXPECT_EQ(ToStd(status.message()),
              Cat(path, ": segment format ", int{version},
                  " is not supported; this version of Pitwall reads format 4"));
  }
}

TEST_F(SegmentTest, TruncatedFileIsRejected) {
  const std::string path = dir_ + "/whole.seg";
  WriteSegment(path, 7);
  const std::string whole = files::ReadWhole(path, 1 << 24).value();
  for (size_t size = 0; size < whole.size(); size += 1 + whole.size() / 200) {
    ASSERT_TRUE(files::ReplaceFile(dir_ + "/cut.seg", whole.substr(0, size), nullptr).ok());
    EXPECT_FALSE(SegmentReader::Open(dir_ + "/cut.seg").ok()) << size;
  }
}

TEST_F(SegmentTest, UnfinishedSegmentDoesNotAppear) {
  const std::string path = dir_ + "/a.seg";
  {
    auto writer = SegmentWriter::Create(path);
    ASSERT_TRUE(writer.ok());
    EXPECT_TRUE(files::Exists(path + ".part"));
  }
  EXPECT_FALSE(files::Exists(path + ".part"));
  EXPECT_FALSE(files::Exists(path));
}

TEST_F(SegmentTest, FullDisk_ReturnsErrorAndLeavesNoFile) {
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

TEST_F(SegmentTest, RejectsRowsThatDoNotMatchTable) {
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
