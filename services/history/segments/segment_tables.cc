#include "services/history/segments/segment_tables.h"

#include <charconv>
#include <optional>

#include "services/base/text/strings.h"
#include "services/history/segments/metric_pages.h"
#include "services/history/segments/step_index.h"
#include "services/model/position.h"

namespace pitwall::history {
namespace {

using Single = SegmentTables::Single;

bool ParseNumber(std::string_view text, size_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// Parses "rows/3/1" into 3 and 1.
bool ParseKey(std::string_view key, std::string_view* what, size_t* origin, size_t* schema) {
  const size_t first = key.find('/');
  *what = key.substr(0, first);
  if (first == std::string_view::npos) return true;
  const size_t second = key.find('/', first + 1);
  return second != std::string_view::npos &&
         ParseNumber(key.substr(first + 1, second - first - 1), origin) &&
         ParseNumber(key.substr(second + 1), schema);
}

// Returns the table with this name.
std::optional<Single> SingleOf(std::string_view what) {
  if (what == "window") return Single::kHead;
  if (what == kSchemasTable) return Single::kSchemas;
  if (what == "span-ends") return Single::kSpans;
  if (what == "span-metrics") return Single::kSpanMetrics;
  if (what == "span-index") return Single::kSpanIndex;
  if (what == "beats") return Single::kBeats;
  if (what == "beat-runs") return Single::kBeatRuns;
  if (what == kStepsTable) return Single::kSteps;
  if (what == kMetricsTable) return Single::kMetrics;
  return std::nullopt;
}

}  // namespace

SegmentTables::SegmentTables(std::string path, int64_t window_ns)
    : path_(std::move(path)), window_ns_(window_ns) {
  singles_.fill(kNoTable);
}

Status SegmentTables::Damaged(std::string_view what) const {
  return DataLoss(Cat(path_, ": ", what, "; the window that starts at Unix time ",
                      window_ns_ / kNanosPerSecond,
                      " cannot be read; restore the file or delete the job"));
}

Status SegmentTables::Open(const uint32_t* footer_crc,
                           std::function<void(const Status&)> on_damage) {
  auto reader = store::SegmentReader::Open(path_);
  if (absl::IsNotFound(reader.status())) return Damaged("missing");
  if (absl::IsUnimplemented(reader.status())) {
    return DataLoss(Cat(ToStd(reader.status().message()),
                        "; move the history folder away, and the next start rebuilds the history "
                        "from the log, or delete the job"));
  }
  if (absl::IsDataLoss(reader.status())) return Damaged(ToStd(reader.status().message()));
  RETURN_IF_ERROR(reader.status());
  reader_ = *std::move(reader);
  reader_->OnDamage(std::move(on_damage));
  if (footer_crc != nullptr && reader_->footer_crc() != *footer_crc)
    return Damaged("not the segment listed in the catalog");
  return Locate();
}

Status SegmentTables::Locate() {
  const std::vector<store::TableEntry>& entries = reader_->entries();
  rows_.reserve(entries.size());
  for (size_t number = 0; number < entries.size(); ++number) {
    std::string_view what;
    Place place{number, 0, 0};
    if (!ParseKey(entries[number].key, &what, &place.origin, &place.schema))
      return Damaged("malformed table key");
    if (what == "rows") {
      rows_.push_back(place);
      continue;
    }
    if (what == "series") series_.push_back(place);
    if (const std::optional<Single> single = SingleOf(what); single.has_value())
      singles_[static_cast<size_t>(*single)] = number;
  }
  return OkStatus();
}

StatusOr<store::TablePtr> SegmentTables::At(Single table) const {
  const size_t number = NumberOf(table);
  if (number == kNoTable) return store::TablePtr();
  return reader_->TableAt(number);
}

Status SegmentTables::ReadInts(Single table, size_t first,
                               std::span<std::vector<int64_t>> columns) const {
  ASSIGN_OR_RETURN(const store::TablePtr of, At(table));
  if (of == nullptr) return OkStatus();
  if (of->columns.size() < first + columns.size()) return Damaged("table without a column");
  for (size_t g = 0; g < of->groups.size(); ++g) {
    for (size_t c = 0; c < columns.size(); ++c)
      RETURN_IF_ERROR(reader_->ReadInts(*of, g, first + c, &columns[c]));
  }
  return OkStatus();
}

StatusOr<std::string> SegmentTables::ReadText(Single table, size_t group,
                                              std::string_view what) const {
  ASSIGN_OR_RETURN(const store::TablePtr of, At(table));
  std::vector<std::string> texts;
  if (of != nullptr && group < of->groups.size() && of->columns.size() == 2)
    RETURN_IF_ERROR(reader_->ReadTexts(*of, group, 1, &texts));
  if (texts.size() != 1) return Damaged(Cat("malformed ", what));
  return std::move(texts[0]);
}

size_t SegmentTables::bytes() const {
  return reader_->memory_bytes() + (rows_.capacity() + series_.capacity()) * sizeof(Place);
}

}  // namespace pitwall::history
