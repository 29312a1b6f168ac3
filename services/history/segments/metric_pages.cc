#include "services/history/segments/metric_pages.h"

#include <algorithm>
#include <utility>

#include "services/base/cancellation.h"
#include "services/base/wrapping.h"
#include "services/history/segments/text_page.h"

namespace pitwall::history {
namespace {

constexpr std::string_view kWhat = "metric page";
constexpr uint64_t kMaxColumns = UINT32_MAX / 2;  // far more than the columns of any schema

}  // namespace

StatusOr<std::shared_ptr<const MetricPages::Directory>> MetricPages::ReadDirectory() const {
  const SegmentCache::Key key = SegmentCache::MetricsKey(facts_.generation, 0);
  if (cache_ != nullptr) {
    if (auto found = cache_->Find<Directory>(key); found != nullptr) return found;
  }
  ASSIGN_OR_RETURN(const std::string text, ReadText(path_, facts_.metrics, kWhat));
  auto directory = std::make_shared<Directory>();
  BinaryReader in(text);
  if (in.U8() != kForm) in.Fail();
  directory->totals = in.Bool();
  directory->schemas.resize(in.Count());
  for (uint64_t& schema : directory->schemas) schema = in.U64();
  while (in.ok() && !in.AtEnd()) {
    Place& place = directory->places.emplace_back();
    place.kind = static_cast<Kind>(in.U8());
    place.first = in.Str();
    place.last = in.Str();
    place.page = RestorePage(in);
  }
  if (!in.ok()) {
    // Opening the segment reports a former format, whose directory differs.
    RETURN_IF_ERROR(SegmentTables(path_, facts_.window_ns).Open(nullptr, nullptr));
    return MalformedPage(path_, facts_.metrics, kWhat);
  }
  if (cache_ != nullptr) cache_->Put(key, directory, directory->bytes() + DecodedColumn::kOverhead);
  return std::shared_ptr<const Directory>(std::move(directory));
}

StatusOr<std::shared_ptr<const std::string>> MetricPages::ReadPage(const Directory& directory,
                                                                   const Place& place) const {
  RETURN_IF_ERROR(CheckCanceled());
  const auto number = static_cast<uint32_t>(&place - directory.places.data());
  const SegmentCache::Key key = SegmentCache::MetricsKey(facts_.generation, 1 + number);
  if (cache_ != nullptr) {
    if (auto found = cache_->Find<std::string>(key); found != nullptr) return found;
  }
  ASSIGN_OR_RETURN(std::string text, ReadText(path_, place.page, kWhat));
  auto read = std::make_shared<const std::string>(std::move(text));
  if (cache_ != nullptr) cache_->Put(key, read, read->size() + DecodedColumn::kOverhead);
  return read;
}

StatusOr<bool> MetricCursor::NextPage() {
  if (directory_ == nullptr) {
    ASSIGN_OR_RETURN(directory_, pages_.ReadDirectory());
  }
  while (next_place_ < directory_->places.size()) {
    const MetricPages::Place& place = directory_->places[next_place_++];
    const auto within = [&](std::string_view name) {
      return name >= place.first && name <= place.last;
    };
    if (place.kind != kind_ ||
        (!names_.empty() && std::none_of(names_.begin(), names_.end(), within)))
      continue;
    ASSIGN_OR_RETURN(page_, pages_.ReadPage(*directory_, place));
    in_ = BinaryReader(*page_);
    place_ = place.page;
    return true;
  }
  return false;
}

StatusOr<bool> MetricCursor::Next() {
  for (;;) {
    if (page_ == nullptr || in_.AtEnd()) {
      ASSIGN_OR_RETURN(const bool more, NextPage());
      if (!more) return false;
    }
    metric_ = in_.StrView();
    content_ = in_.StrView();
    if (!in_.ok()) return Malformed();
    if (names_.empty() || std::find(names_.begin(), names_.end(), metric_) != names_.end())
      return true;
  }
}

Status MetricCursor::Malformed() const { return MalformedPage(pages_.path_, place_, kWhat); }

Status MetricPages::ForEachSpread(
    const std::vector<std::string_view>& names,
    const std::function<void(const Spreads::key_type&, const Spread&)>& take) const {
  MetricCursor cursor(*this, kSpreads, &names);
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, cursor.Next());
    if (!more) return OkStatus();
    BinaryReader in(cursor.content());
    Spreads::key_type key;
    key.second = cursor.metric();
    for (size_t left = in.Count(3); left > 0 && in.ok(); --left) {
      key.first = in.StrView();
      Spread spread;
      spread.sketch.Restore(in);
      spread.sum = in.Double();
      if (in.ok()) take(key, spread);
    }
    if (!in.ok() || !in.AtEnd()) return cursor.Malformed();
  }
}

Status MetricPages::ForEachSeries(
    const std::function<Status(uint64_t, std::span<const SeriesRun>)>& take) const {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Directory> directory, ReadDirectory());
  std::vector<SeriesRun> runs;
  for (const Place& place : directory->places) {
    if (place.kind != kSeries) continue;
    ASSIGN_OR_RETURN(const std::shared_ptr<const std::string> page, ReadPage(*directory, place));
    BinaryReader in(*page);
    SeriesExtent base;
    uint64_t schema = 0;
    while (in.ok() && !in.AtEnd()) {
      schema += in.U64();
      runs.clear();
      uint64_t column = 0;
      for (size_t left = in.Count(5); left > 0 && in.ok(); --left) {
        const uint64_t first = column + in.U64(), count = in.U64();
        if (first > kMaxColumns || count > kMaxColumns) in.Fail();
        column = first + count;
        SeriesRun& run = runs.emplace_back();
        run.first_column = static_cast<uint32_t>(first);
        run.columns = static_cast<uint32_t>(count);
        run.extent.first_ns = Plus(in.I64(), base.first_ns);
        run.extent.last_ns = Plus(in.I64(), base.last_ns);
        run.extent.has_steps = in.Bool();
        if (runs.size() == 1) base = run.extent;
      }
      if (!in.ok() || schema >= directory->schemas.size()) break;
      RETURN_IF_ERROR(take(directory->schemas[schema], runs));
    }
    if (!in.ok() || !in.AtEnd()) return MalformedPage(path_, place.page, kWhat);
  }
  return OkStatus();
}

StatusOr<bool> MetricPages::AddTotals(
    const std::function<bool(int64_t, Span::Kind, std::string_view)>& wanted,
    SpanTotals* totals) const {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Directory> directory, ReadDirectory());
  if (!directory->totals) return false;
  for (const Place& place : directory->places) {
    if (place.kind != kTotals) continue;
    ASSIGN_OR_RETURN(const std::shared_ptr<const std::string> text, ReadPage(*directory, place));
    TotalsPage page;
    if (!DecodeTotals(*text, &page)) return MalformedPage(path_, place.page, kWhat);
    std::vector<uint32_t> names;
    for (const std::string& name : page.names) names.push_back(totals->NameOf(name));
    for (size_t i = 0; i < page.ranks.size(); ++i) {
      const auto name = static_cast<size_t>(page.name_numbers[i]);
      const auto kind = static_cast<Span::Kind>(page.kinds[i]);
      if (!wanted(page.ranks[i], kind, page.names[name])) continue;
      OperatorTotal total;
      total.count = static_cast<uint64_t>(page.counts[i]);
      total.total_ns = page.sums[i];
      total.min_ns = page.least[i];
      total.max_ns = page.greatest[i];
      Merge(total, totals->At(page.ranks[i], kind, names[name]));
    }
  }
  return true;
}

}  // namespace pitwall::history
