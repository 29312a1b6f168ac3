#include "services/history/segments/window_description.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "services/base/text/stable_hash.h"
#include "services/codec/schema_binary.h"

namespace pitwall::history {
namespace {

using Single = SegmentTables::Single;

// Approximate memory of an origin, including its names and sequences.
constexpr size_t kOriginBytes = 500;

// Reads the origins in the description. If `seen` is not null, the sequence numbers are stored in
// it.
void ReadOrigins(BinaryReader& in, std::vector<OriginPtr>* origins,
                 std::map<OriginKey, SequenceRanges>* seen) {
  for (size_t left = in.Count(6); left > 0 && in.ok(); --left) {
    auto origin = std::make_shared<Origin>();
    Take(&in, origin.get());
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

// Reader for a segment's schemas. The pool contains all of them unless the catalog was lost or an
// archive is being checked.
class SchemaReader {
 public:
  // `pool` may be null. The arguments must outlive the reader.
  SchemaReader(const SegmentTables* tables, std::string_view job, SchemaPool* pool)
      : tables_(*tables), job_(job), pool_(pool) {}

  Status Read(BinaryReader& in, std::vector<SharedSchema>* out);

 private:
  // A page of schemas, in the order of the segment's description.
  struct Page {
    uint64_t number = UINT64_MAX;
    size_t at = 0;  // offset of the next schema
    bool read = false;
    std::string text;
  };

  // Reads a schema from the current page. The page is loaded on first use.
  StatusOr<SharedSchema> ReadSchema(uint64_t id, const SchemaPool::Saved& saved, size_t from);

  const SegmentTables& tables_;
  const std::string_view job_;
  SchemaPool* const pool_;
  Page page_;
};

StatusOr<SharedSchema> SchemaReader::ReadSchema(uint64_t id, const SchemaPool::Saved& saved,
                                                size_t from) {
  if (!page_.read) {
    ASSIGN_OR_RETURN(page_.text, tables_.ReadText(Single::kSchemas, page_.number, "schema table"));
    page_.read = true;
  }
  if (from > page_.text.size() || saved.bytes > page_.text.size() - from)
    return tables_.Damaged("malformed schema table");
  const std::string_view bytes = std::string_view(page_.text).substr(from, saved.bytes);
  BinaryReader in(bytes);
  SharedSchema schema(codec::RestoreSchema(in));
  if (Crc32c(bytes) != saved.crc || !in.Finish(tables_.path()).ok() || schema->id != id)
    return tables_.Damaged("malformed schema table");
  return schema;
}

Status SchemaReader::Read(BinaryReader& in, std::vector<SharedSchema>* out) {
  const size_t count = in.Count(4);
  out->reserve(count);
  for (size_t left = count; left > 0 && in.ok(); --left) {
    const uint64_t id = in.U64();
    const SchemaPool::Saved saved = {in.U64(), static_cast<uint32_t>(in.U64())};
    const uint64_t number = in.U64();
    if (number != page_.number) page_ = {.number = number};
    const size_t from = std::exchange(page_.at, page_.at + saved.bytes);
    if (pool_ != nullptr) {
      SchemaPool::Saved known_as;
      std::optional<SharedSchema> known = pool_->Find(job_, id, &known_as);
      if (known.has_value() && known_as == saved) {
        out->push_back(*std::move(known));
        continue;
      }
    }
    ASSIGN_OR_RETURN(SharedSchema schema, ReadSchema(id, saved, from));
    if (pool_ != nullptr) pool_->Add(job_, schema);
    out->push_back(std::move(schema));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::map<OriginKey, SequenceRanges>> ReadSeenBatches(const SegmentTables& tables) {
  ASSIGN_OR_RETURN(const std::string text, tables.ReadText(Single::kHead, 0, "description"));
  BinaryReader in(text);
  SegmentMeta facts;
  facts.Restore(in);
  std::map<OriginKey, SequenceRanges> seen;
  ReadOrigins(in, nullptr, &seen);
  if (!in.ok()) return tables.Damaged("malformed description");
  return seen;
}

Status WindowDescription::Read(const SegmentMeta* catalog, SchemaPool* pool) {
  ASSIGN_OR_RETURN(const std::string text, tables_.ReadText(Single::kHead, 0, "description"));
  BinaryReader in(text);
  facts_.Restore(in);
  tables_.NoteWindow(facts_.window_ns);
  if (catalog == nullptr) RETURN_IF_ERROR(ReadPageFacts());
  ReadOrigins(in, &origins_, nullptr);
  for (size_t left = in.Count(); left > 0 && in.ok(); --left) modes_.Of(in.StrView());
  RETURN_IF_ERROR(SchemaReader(&tables_, facts_.job, pool).Read(in, &schemas_));
  RETURN_IF_ERROR(in.Finish(tables_.path()));
  RETURN_IF_ERROR(CheckPlaces(tables_.rows()));
  RETURN_IF_ERROR(CheckPlaces(tables_.series()));
  if (catalog != nullptr) facts_ = *catalog;
  facts_.footer_crc = tables_.reader().footer_crc();
  return OkStatus();
}

Status WindowDescription::CheckPlaces(const std::vector<SegmentTables::Place>& places) const {
  for (const SegmentTables::Place& place : places) {
    if (place.origin >= origins_.size() || place.schema >= schemas_.size())
      return tables_.Damaged("table with an unknown origin or schema");
  }
  return OkStatus();
}

Status WindowDescription::ReadPageFacts() {
  facts_.metrics = {};
  ASSIGN_OR_RETURN(const store::TablePtr metrics, tables_.At(Single::kMetrics));
  if (metrics != nullptr) {
    if (metrics->groups.empty() || metrics->columns.size() != 2)
      return tables_.Damaged("malformed metric table");
    facts_.metrics = metrics->groups.back().pages[1];
  }
  ASSIGN_OR_RETURN(const store::TablePtr steps, tables_.At(Single::kSteps));
  if (steps == nullptr) return OkStatus();
  ASSIGN_OR_RETURN(const std::string text,
                   tables_.ReadText(Single::kSteps, steps->groups.size() - 1, "step table"));
  BinaryReader in(text);
  facts_.steps.Restore(in);
  RETURN_IF_ERROR(in.Finish(tables_.path()));
  return facts_.steps.PlacePages(*steps) ? OkStatus() : tables_.Damaged("malformed step table");
}

size_t WindowDescription::bytes() const {
  return origins_.size() * kOriginBytes + schemas_.size() * sizeof(SharedSchema);
}

StatusOr<const OriginPtr*> WindowDescription::OriginAt(int64_t index) const {
  if (index < 0 || index >= static_cast<int64_t>(origins_.size()))
    return tables_.Damaged("unknown origin");
  return &origins_[static_cast<size_t>(index)];
}

Status WindowDescription::CheckModes(std::span<const int64_t> modes) const {
  for (const int64_t mode : modes) {
    if (mode < 0 || mode >= static_cast<int64_t>(modes_.all().size()))
      return tables_.Damaged("unknown mode");
  }
  return OkStatus();
}

}  // namespace pitwall::history
