#include "services/history/windows/span_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "services/base/text/strings.h"

namespace pitwall::history {
namespace {

auto Fields(const SpanList::Row& r) {
  return std::tuple(r.start_ns, r.end_ns, r.step, r.sequence, r.origin, r.name, r.mode, r.kind);
}

TEST(SpanListTest, AllFieldValuesRoundTrip) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const SpanList::Row usual = {1'000, 2'000, 7, 9, 1, 2, 3, Span::Kind::kPhase};
  std::vector<SpanList::Row> rows = {usual};
  const auto add = [&](auto edit) {
    rows.push_back(usual);
    edit(&rows.back());
  };
  for (const int64_t start : {kMin, int64_t{-1}, int64_t{0}, kMax}) {
    for (const int64_t end : {kMin, int64_t{0}, int64_t{UINT32_MAX} - 1, int64_t{UINT32_MAX},
                              int64_t{UINT32_MAX} + 1, kMax})
      add([&](SpanList::Row* r) { r->start_ns = start, r->end_ns = end; });
  }
  for (const int64_t step :
       {kNoStep, int64_t{0}, int64_t{INT32_MIN} - 1, int64_t{INT32_MIN}, int64_t{INT32_MIN} + 1,
        int64_t{INT32_MAX}, int64_t{INT32_MAX} + 1, kMin, kMax})
    add([&](SpanList::Row* r) { r->step = step; });
  for (const int64_t sequence :
       {int64_t{0}, int64_t{-1}, int64_t{UINT32_MAX}, int64_t{UINT32_MAX} + 1, kMax})
    add([&](SpanList::Row* r) { r->sequence = sequence; });
  for (const uint32_t number : {uint32_t{UINT16_MAX}, uint32_t{UINT16_MAX} + 1, UINT32_MAX}) {
    add([&](SpanList::Row* r) { r->name = number; });
    add([&](SpanList::Row* r) { r->mode = number; });
    add([&](SpanList::Row* r) { r->origin = number; });
  }
  for (const Span::Kind kind : {Span::Kind::kStep, Span::Kind::kOperator})
    add([&](SpanList::Row* r) { r->kind = kind; });
  SpanList list;
  for (const SpanList::Row& row : rows) list.AddRow(row);
  ASSERT_EQ(list.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(Fields(list.RowAt(i)), Fields(rows[i])) << i;
}

TEST(SpanListTest, TypicalSpanUsesAtMost40Bytes) {
  const auto origin = std::make_shared<const Origin>(Origin{"rank-0", "boot", "node", 0});
  SpanList list;
  for (int64_t i = 0; i < 100'000; ++i) {
    const int64_t start = 1'767'225'600'000'000'000 + i * 1'000'000;
    list.Add({origin, Span::Kind::kPhase, Cat("phase ", i % 5), "train", start, start + 900'000,
              i / 5, i / 100});
  }
  EXPECT_LE(list.bytes(), 100'000U * 40 + 1'000);
  EXPECT_EQ(list[99'999].name, "phase 4");
  EXPECT_EQ(list[99'999].step, 19'999);
}

}  // namespace
}  // namespace pitwall::history
