#include "services/history/store/catalogue.h"

#include <tuple>
#include <utility>

#include "services/base/text/strings.h"
#include "services/codec/blocks/zstd_text.h"
#include "services/codec/schema_binary.h"
#include "services/history/binary_fields.h"
#include "services/history/segments/text_page.h"

namespace pitwall::history {

std::string NumberKey(uint64_t number) {
  std::string key(8, '\0');
  for (size_t i = 0; i < 8; ++i) key[i] = static_cast<char>(number >> (56 - 8 * i));
  return key;
}

uint64_t NumberOf(std::string_view key) {
  uint64_t number = 0;
  for (const char c : key) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

std::string EncodeTime(int64_t time_ns) {
  BinaryWriter out;
  out.I64(time_ns);
  return out.Take();
}

StatusOr<int64_t> DecodeTime(std::string_view body) {
  BinaryReader in(body);
  const int64_t time_ns = in.I64();
  RETURN_IF_ERROR(in.Finish("catalog time"));
  return time_ns;
}

std::string EncodePosition(const ReadPosition& position) {
  BinaryWriter out;
  out.I64(position.offset);
  out.Str(EncodeLogMark(position.mark));
  return out.Take();
}

StatusOr<ReadPosition> DecodePosition(std::string_view body) {
  BinaryReader in(body);
  ReadPosition position;
  position.offset = in.I64();
  position.mark = ParseLogMark(in.StrView());
  RETURN_IF_ERROR(in.Finish("catalog position"));
  return position;
}

std::string BootKey(const Origin& origin) {
  BinaryWriter out;
  out.Str(origin.source);
  out.Str(origin.boot);
  return out.Take();
}

std::string EncodeBoot(const SourceMeta& boot) {
  BinaryWriter out;
  Put(*boot.origin, &out);
  Put(boot, &out);
  out.I64(boot.goodbye_ns);
  return out.Take();
}

StatusOr<SourceMeta> DecodeBoot(std::string_view body) {
  BinaryReader in(body);
  Origin origin;
  Take(&in, &origin);
  SourceMeta boot;
  boot.origin = std::make_shared<const Origin>(std::move(origin));
  Take(&in, &boot);
  if (!in.AtEnd()) boot.goodbye_ns = in.I64();  // earlier versions do not store this field
  RETURN_IF_ERROR(in.Finish("catalog boot"));
  return boot;
}

StatusOr<store::DatabaseRow> PackedSchemaRow(const std::string& job, const Schema& schema) {
  BinaryWriter body;
  codec::SaveSchema(schema, body);
  ASSIGN_OR_RETURN(std::string packed, blocks::Pack(body.data()));
  return store::DatabaseRow{kPackedSchemaRow, job, NumberKey(schema.id), std::move(packed)};
}

StatusOr<Schema> DecodeSchema(const store::DatabaseRow& row) {
  constexpr size_t kMaxBytes = size_t{256} << 20;
  std::string body = row.body;
  if (row.kind == kPackedSchemaRow) {
    ASSIGN_OR_RETURN(body, blocks::Unpack(row.body, kMaxBytes, "catalog schema"));
  }
  BinaryReader in(body);
  Schema schema = codec::RestoreSchema(in);
  RETURN_IF_ERROR(in.Finish("catalog schema"));
  return schema;
}

store::DatabaseRow SegmentRow(const SegmentMeta& facts,
                              const std::map<OriginKey, SequenceRanges>& seen) {
  BinaryWriter body;
  facts.Save(body);
  body.U64(seen.size());
  for (const auto& [key, ranges] : seen) {
    body.Str(key.first);
    body.Str(key.second);
    ranges.Save(body);
  }
  if (facts.steps.known) {
    facts.steps.Save(body);
    facts.steps.SavePages(body);
    if (facts.metrics.bytes > 0) SavePage(facts.metrics, body);
  }
  return {kSegmentRow, facts.job,
          NumberKey(static_cast<uint64_t>(facts.window_ns) ^ (uint64_t{1} << 63)), body.Take()};
}

StatusOr<SealedWindow> DecodeSegment(std::string_view body) {
  BinaryReader in(body);
  SealedWindow out;
  SegmentMeta& facts = out.facts;
  facts.Restore(in);
  for (size_t left = in.Count(3); left > 0 && in.ok(); --left) {
    std::string source = in.Str();
    std::string boot = in.Str();
    out.seen[{std::move(source), std::move(boot)}].Restore(in);
  }
  if (!in.AtEnd()) {  // earlier versions do not store this field
    facts.steps.Restore(in);
    facts.steps.RestorePages(in);
  }
  if (!in.AtEnd()) facts.metrics = RestorePage(in);  // earlier versions do not store this field
  RETURN_IF_ERROR(in.Finish("catalog segment"));
  return out;
}

std::string EncodeRecord(const KeptRecord& record) {
  return Cat(std::string(1, static_cast<char>(record.topic)), record.value);
}

StatusOr<KeptRecord> DecodeRecord(const store::DatabaseRow& row) {
  if (row.body.empty() || row.body[0] < 1 || row.body[0] > 4)
    return DataLoss("malformed catalog event");
  return KeptRecord{static_cast<EventTopic>(row.body[0]), NumberOf(row.key), row.body.substr(1)};
}

std::string EncodeTombstone(const Tombstone& t) {
  BinaryWriter out;
  for (const Tombstone::ReadRecords& read : t.inputs) out.I64(read.end);
  for (const Tombstone::ReadRecords& read : t.inputs) out.I64(read.newest_append_ns);
  return out.Take();
}

// Earlier versions do not store notifications, or do not store append times.
StatusOr<Tombstone> DecodeTombstone(std::string_view body) {
  BinaryReader in(body);
  Tombstone t;
  for (size_t i = 0; i < t.inputs.size() && !(i == 4 && in.AtEnd()); ++i)
    t.inputs[i].end = in.I64();
  if (!in.AtEnd()) {
    for (Tombstone::ReadRecords& read : t.inputs) read.newest_append_ns = in.I64();
  }
  RETURN_IF_ERROR(in.Finish("catalog tombstone"));
  return t;
}

}  // namespace pitwall::history
