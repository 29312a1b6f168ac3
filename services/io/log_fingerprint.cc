#include "services/io/log_fingerprint.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "services/base/text/strings.h"
#include "services/io/partition_scan.h"

namespace pitwall {
namespace {

constexpr std::string_view kField = "mark=";

Status LogTruncated(const TopicPartition& at, std::string_view found,
                    std::string_view consequence) {
  return FailedPrecondition(Cat("log_truncated: ", at.topic, "/", at.partition, ": ", found,
                                consequence.empty() ? "" : "; ", consequence));
}

}  // namespace

Status LogIsBehind(const TopicPartition& at, int64_t offset, int64_t position,
                   std::string_view consequence) {
  return LogTruncated(at,
                      Cat("the log is at offset ", offset, ", before position ", position,
                          " (topic deleted, recreated, or truncated)"),
                      consequence);
}

Status LogWasReplaced(const TopicPartition& at, std::string_view consequence) {
  return LogTruncated(at, "the topic was deleted, recreated, or truncated", consequence);
}

Status RecordWasReplaced(const TopicPartition& at, const LogFingerprint& read, AppendTime found,
                         std::string_view consequence) {
  return LogTruncated(at,
                      Cat("the record at offset ", read.offset,
                          " differs from the record that was read earlier (append time ",
                          found.ns(), " instead of ", read.append_time.ns(), "; topic replaced)"),
                      consequence);
}

std::string EncodeLogMark(const LogFingerprint& mark) {
  return Cat(kField, mark.offset, "@", mark.append_time.ns());
}

LogFingerprint ParseLogMark(std::string_view metadata) {
  for (const std::string_view field : Split(metadata, ';')) {
    if (!StartsWith(field, kField)) continue;
    const std::vector<std::string_view> parts = Split(field.substr(kField.size()), '@');
    if (parts.size() != 2) continue;
    const std::optional<int64_t> offset = ParseInt(parts[0]);
    const std::optional<int64_t> time = ParseInt(parts[1]);
    if (offset.has_value() && time.has_value()) return {*offset, AppendTime::FromNs(*time)};
  }
  return {};
}

Status CheckLogMark(Log* log, const TopicPartition& at, int64_t position,
                    const LogFingerprint& mark) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PartitionReader> reader, log->OpenReader(at, kFromStart));
  ASSIGN_OR_RETURN(const int64_t start, reader->StartOffset());
  ASSIGN_OR_RETURN(const int64_t end, reader->EndOffset());
  if (end < position) return LogIsBehind(at, end, position);
  if (mark.offset < start || mark.offset >= end || mark.append_time == AppendTime())
    return OkStatus();
  RETURN_IF_ERROR(reader->Seek(mark.offset));
  std::vector<Record> records;
  if (Status polled = reader->Poll(1, 1, Duration::Seconds(1), &records);
      !polled.ok() && !absl::IsDataLoss(polled))
    return polled;
  if (records.empty() || records[0].offset != mark.offset ||
      records[0].append_time == mark.append_time)
    return OkStatus();
  return RecordWasReplaced(at, mark, records[0].append_time);
}

StatusOr<int64_t> FirstAfter(Log* log, const TopicPartition& at, const LogFingerprint& mark) {
  ASSIGN_OR_RETURN(PartitionScan scan, PartitionScan::Open(log, at, kFromStart));
  while (mark.append_time != AppendTime()) {
    ASSIGN_OR_RETURN(const Record* const record, scan.Next());
    if (record == nullptr) break;
    if (record->append_time > mark.append_time) return record->offset;
  }
  const int64_t position = scan.ReleaseReader()->position();
  return mark.append_time == AppendTime() ? position : std::max(scan.end(), position);
}

}  // namespace pitwall
