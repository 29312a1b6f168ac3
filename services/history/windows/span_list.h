// Packed spans of a window. Names, modes, and origins are stored as indexes into tables, because a
// rank uses only a few of them per step, while a window contains millions of spans.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/history/binary_fields.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

// One boot of one source. Immutable, and shared by all data from that boot.
struct Origin {
  std::string source;
  std::string boot;
  std::string node;
  int64_t rank = -1;
  SourceKind kind = SourceKind::kNode;
  static constexpr auto BinaryMembers() {
    return std::tuple(&Origin::source, &Origin::boot, &Origin::node, &Origin::rank, &Origin::kind);
  }
};
using OriginPtr = std::shared_ptr<const Origin>;
using OriginKey = std::pair<std::string, std::string>;  // (source, boot)

// One span of a list. Valid until the list changes.
struct SpanView {
  const OriginPtr& origin;
  Span::Kind kind;
  std::string_view name;
  std::string_view mode;
  int64_t start_ns;
  int64_t end_ns;
  int64_t step;
  int64_t sequence;
};

// List of spans. Not thread-safe. The list has at most 2^32 spans, names, or origins.
class SpanList {
 public:
  SpanList() = default;
  SpanList(const SpanList&) = delete;  // views of names refer to this object
  SpanList& operator=(const SpanList&) = delete;
  SpanList(SpanList&&) = default;
  SpanList& operator=(SpanList&&) = default;

  void Add(const SpanView& span);
  // Return the number of a string or origin, for callers that add many spans with the same strings
  // or origins.
  uint32_t TextOf(std::string_view text);
  uint32_t OriginOf(const OriginPtr& origin);
  struct Row {
    int64_t start_ns, end_ns, step, sequence;
    uint32_t origin, name, mode;
    Span::Kind kind;
  };
  void AddRow(const Row& row);
  Row RowAt(size_t i) const { return rows_[i].wide ? wide_[rows_[i].sequence] : Unpack(rows_[i]); }
  SpanView operator[](size_t i) const;
  size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  size_t bytes() const {
    return rows_.capacity() * sizeof(Packed) + wide_.capacity() * sizeof(Row) + texts_bytes_;
  }
  const std::vector<OriginPtr>& origins() const { return origins_; }

 private:
  friend class SpanLists;
  // Row that contains only small numbers, as nearly all rows do. Takes 32 bytes instead of 48.
  struct Packed {
    int64_t start_ns;
    uint32_t duration_ns;
    int32_t step;
    uint32_t sequence;  // for a wide row, its index in wide_
    uint32_t origin;
    uint16_t name, mode;
    uint8_t kind;
    bool wide;
  };
  static_assert(sizeof(Packed) == 32);
  // Packs the row. Returns false if a number is too large.
  static bool Pack(const Row& row, Packed* out);
  static Row Unpack(const Packed& packed);

  std::vector<Packed> rows_;
  std::vector<Row> wide_;
  std::deque<std::string> texts_;  // a deque, so that addresses are stable
  absl::flat_hash_map<std::string_view, uint32_t> text_index_;
  std::vector<OriginPtr> origins_;
  absl::flat_hash_map<const Origin*, uint32_t> origin_index_;
  size_t texts_bytes_ = 0;
};

// Concatenation of several span lists. The lists must outlive this object and must not change.
class SpanLists {
 public:
  explicit SpanLists(std::vector<const SpanList*> lists) : lists_(std::move(lists)) {}
  // Returns a span by its index across all lists.
  SpanView operator[](size_t i) const;
  size_t size() const;
  // Returns the origins of all lists. An origin that occurs in two lists is returned twice.
  std::vector<OriginPtr> Origins() const;
  // Returns the indexes of all spans, sorted within slices of start times by (source, boot, kind,
  // start, sequence). Equal spans keep their order. `slice_of` maps a start time to its slice.
  std::vector<uint32_t> Sorted(int64_t (*slice_of)(int64_t start_ns)) const;

 private:
  std::vector<const SpanList*> lists_;
};

}  // namespace pitwall::history
