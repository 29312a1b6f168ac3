// Opening of a sealed window, which reads its description and locates its tables.
#include <charconv>
#include <optional>
#include <utility>

#include "services/base/text/stable_hash.h"
#include "services/codec/schema_binary.h"
#include "services/history/segments/metric_pages.h"
#include "services/history/segments/window_segment.h"

namespace pitwall::history {
namespace {

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

// Approximate memory of an origin, including its names and sequences.
constexpr size_t kOriginBytes = 500;
constexpr int kSchemaPagesVersion = 4;  // first version that has separate schema pages

}  // namespace

StatusOr<std::shared_ptr<const WindowSegment>> WindowSegment::Open(const std::string& path,
                                                                   const SegmentMeta* facts,
                                                                   const SharedBySegments& shared) {
  std::shared_ptr<WindowSegment> out(new WindowSegment());
  out->shared_ = shared;
  out->path_ = path;
  if (facts != nullptr) out->facts_ = *facts;
  auto reader = store::SegmentReader::Open(path);
  if (absl::IsNotFound(reader.status())) return out->Damaged("missing");
  if (absl::IsDataLoss(reader.status())) return out->Damaged(ToStd(reader.status().message()));
  RETURN_IF_ERROR(reader.status());
  out->reader_ = *std::move(reader);
  out->reader_->OnDamage(shared.on_damage);
  const bool other = facts != nullptr && out->reader_->footer_crc() != facts->footer_crc;
  if (other) return out->Damaged("not the segment listed in the catalog");
  RETURN_IF_ERROR(out->ReadHead(facts == nullptr));
  if (facts != nullptr) out->facts_ = *facts;
  out->facts_.footer_crc = out->reader_->footer_crc();
  return std::shared_ptr<const WindowSegment>(std::move(out));
}

Status WindowSegment::PlaceTables() {
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
    if (what == "window") head_ = number;
    if (what == kSchemasTable) schema_pages_ = number;
    if (what == "spread") spread_ = number;
    if (what == "spans" || what == "span-rows" || what == "span-ends") spans_ = number;
    if (what == "span-rows" || what == "span-ends") usual_lengths_ = true;
    if (what == "span-metrics") span_metrics_ = number;
    if (what == "span-index") span_index_ = number;
    if (what == "span-totals") span_totals_ = number;
    if (what == "beats") beats_ = number;
    if (what == "beat-runs") beat_runs_ = number;
    if (what == kStepsTable) steps_ = number;
    if (what == kMetricsTable) metrics_ = number;
  }
  return OkStatus();
}

StatusOr<store::TablePtr> WindowSegment::TableAt(size_t number) const {
  if (number == kNoTable) return store::TablePtr();
  return reader_->TableAt(number);
}

StatusOr<std::string> WindowSegment::HeadText() const {
  ASSIGN_OR_RETURN(const store::TablePtr head, TableAt(head_));
  if (head == nullptr || head->groups.size() != 1 || head->columns.size() != 2)
    return Damaged("missing description");
  std::vector<std::string> texts;
  RETURN_IF_ERROR(reader_->ReadTexts(*head, 0, 1, &texts));
  if (texts.size() != 1) return Damaged("malformed description");
  return std::move(texts[0]);
}

void WindowSegment::ReadOrigins(BinaryReader& in, std::vector<OriginPtr>* origins,
                                std::map<OriginKey, SequenceRanges>* seen) const {
  for (size_t left = in.Count(6); left > 0 && in.ok(); --left) {
    auto origin = std::make_shared<Origin>();
    origin->source = in.StrView();
    origin->boot = in.StrView();
    origin->node = in.StrView();
    origin->rank = in.I64();
    origin->kind = static_cast<SourceKind>(in.U8());
    if (seen == nullptr) {
      SequenceRanges::Skip(in);
    } else {
      SequenceRanges ranges;
      ranges.Restore(in);
      if (ranges.size() > 0) (*seen)[{origin->source, origin->boot}] = std::move(ranges);
    }
    if (origins != nullptr) origins->push_back(std::move(origin));
  }
}

StatusOr<std::map<OriginKey, SequenceRanges>> WindowSegment::ReadSeen() const {
  ASSIGN_OR_RETURN(const std::string text, HeadText());
  BinaryReader in(text);
  SegmentMeta facts;
  facts.Restore(in);
  std::map<OriginKey, SequenceRanges> seen;
  ReadOrigins(in, nullptr, &seen);
  if (!in.ok()) return Damaged("malformed description");
  return seen;
}

Status WindowSegment::ReadHead(bool with_pages) {
  RETURN_IF_ERROR(PlaceTables());
  ASSIGN_OR_RETURN(const std::string text, HeadText());
  BinaryReader in(text);
  facts_.Restore(in);
  if (with_pages) RETURN_IF_ERROR(ReadPageFacts());
  ReadOrigins(in, &origins_, nullptr);
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) modes_.Of(in.StrView());
  RETURN_IF_ERROR(ReadSchemas(in));
  RETURN_IF_ERROR(in.Finish(path_));
  bytes_ = reader_->memory_bytes() + origins_.size() * kOriginBytes +
           schemas_.size() * sizeof(SharedSchema) +
           (rows_.capacity() + series_.capacity()) * sizeof(Place);
  for (const auto* places : {&rows_, &series_}) {
    for (const Place& place : *places) {
      if (place.origin >= origins_.size() || place.schema >= schemas_.size())
        return Damaged("table with an unknown origin or schema");
    }
  }
  return OkStatus();
}

Status WindowSegment::ReadPageFacts() {
  facts_.metrics = {};
  ASSIGN_OR_RETURN(const store::TablePtr metrics, TableAt(metrics_));
  if (metrics != nullptr) {
    if (metrics->groups.empty() || metrics->columns.size() != 2)
      return Damaged("malformed metric table");
    facts_.metrics = metrics->groups.back().pages[1];
  }
  ASSIGN_OR_RETURN(const store::TablePtr steps, TableAt(steps_));
  if (steps == nullptr) return OkStatus();
  if (steps->groups.empty() || steps->columns.size() != 2) return Damaged("malformed step table");
  std::vector<std::string> texts;
  RETURN_IF_ERROR(reader_->ReadTexts(*steps, steps->groups.size() - 1, 1, &texts));
  BinaryReader in(texts[0]);
  facts_.steps.Restore(in);
  RETURN_IF_ERROR(in.Finish(path_));
  return facts_.steps.PlacePages(*steps) ? OkStatus() : Damaged("malformed step table");
}

// A page of schemas, in the order of the segment's description.
struct WindowSegment::SchemaPage {
  uint64_t number = UINT64_MAX;
  size_t at = 0;  // offset of the next schema
  bool read = false;
  std::string text;
};

StatusOr<SharedSchema> WindowSegment::ReadSchema(uint64_t id, const SchemaPool::Saved& saved,
                                                 size_t from, SchemaPage* page) const {
  if (!page->read) {
    ASSIGN_OR_RETURN(const store::TablePtr pages, TableAt(schema_pages_));
    if (pages == nullptr || page->number >= pages->groups.size() || pages->columns.size() != 2)
      return Damaged("malformed schema table");
    std::vector<std::string> texts;
    RETURN_IF_ERROR(reader_->ReadTexts(*pages, page->number, 1, &texts));
    if (texts.size() != 1) return Damaged("malformed schema table");
    page->text = std::move(texts[0]);
    page->read = true;
  }
  if (from > page->text.size() || saved.bytes > page->text.size() - from)
    return Damaged("malformed schema table");
  const std::string_view bytes = std::string_view(page->text).substr(from, saved.bytes);
  BinaryReader in(bytes);
  SharedSchema schema(codec::RestoreSchema(in));
  if (Crc32c(bytes) != saved.crc || !in.Finish(path_).ok() || schema->id != id)
    return Damaged("malformed schema table");
  return schema;
}

// Reads the segment's schemas. The pool usually contains all of them, unless the catalog was lost
// or an archive is being checked.
Status WindowSegment::ReadSchemas(BinaryReader& in) {
  if (reader_->version() < kSchemaPagesVersion) {
    for (size_t left = in.Count(3); left > 0 && in.ok(); --left)
      schemas_.push_back(ReadFormerSchema(in));
    return OkStatus();
  }
  SchemaPage page;
  const size_t count = in.Count(4);
  schemas_.reserve(count);
  for (size_t left = count; left > 0 && in.ok(); --left) {
    const uint64_t id = in.U64();
    const SchemaPool::Saved saved = {in.U64(), static_cast<uint32_t>(in.U64())};
    const uint64_t number = in.U64();
    if (number != page.number) page = {.number = number};
    const size_t from = std::exchange(page.at, page.at + saved.bytes);
    if (shared_.schemas != nullptr) {
      SchemaPool::Saved known_as;
      std::optional<SharedSchema> known = shared_.schemas->Find(facts_.job, id, &known_as);
      if (known.has_value() && known_as == saved) {
        schemas_.push_back(*std::move(known));
        continue;
      }
    }
    ASSIGN_OR_RETURN(SharedSchema schema, ReadSchema(id, saved, from, &page));
    if (shared_.schemas != nullptr) shared_.schemas->Add(facts_.job, schema);
    schemas_.push_back(std::move(schema));
  }
  return OkStatus();
}

SharedSchema WindowSegment::ReadFormerSchema(BinaryReader& in) const {
  if (shared_.schemas == nullptr) return SharedSchema(codec::RestoreSchema(in));
  BinaryReader from_id = in;
  const uint64_t id = from_id.U64();
  SchemaPool::Saved saved;
  if (std::optional<SharedSchema> known = shared_.schemas->Find(facts_.job, id, &saved);
      known.has_value()) {
    BinaryReader same = in;
    if (Crc32c(same.Raw(saved.bytes)) == saved.crc && same.ok()) {
      in = same;
    } else {
      codec::SkipSchema(in);
    }
    return *std::move(known);
  }
  SharedSchema schema(codec::RestoreSchema(in));
  if (in.ok()) shared_.schemas->Add(facts_.job, schema);
  return schema;
}

}  // namespace pitwall::history
