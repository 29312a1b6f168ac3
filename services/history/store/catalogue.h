// Catalog rows: their kinds, keys, and bodies.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "services/adapters/store/database.h"
#include "services/history/history.h"
#include "services/history/segments/segment_meta.h"
#include "services/history/windows/sequence_ranges.h"
#include "services/history/windows/span_list.h"
#include "services/io/io.h"
#include "services/io/log_fingerprint.h"
#include "services/model/job.h"
#include "services/model/telemetry.h"

namespace pitwall::history {

// The numbers are stored in the catalog and must not be reused.
enum RowKind : uint8_t {
  kPositionRow = 1,      // position of a partition
  kBootRow = 2,          // one boot of one source of a job
  kSchemaRow = 3,        // schema used by a job
  kSegmentRow = 4,       // a sealed window
  kEventRow = 5,         // a record of an EventTopic, as stored in the log
  kTombstoneRow = 6,     // a deleted job, identified by a hash of its ID
  kMetaRow = 7,          // kAgeKey: the time that retention last accepted
  kPackedSchemaRow = 8,  // like kSchemaRow, but compressed with zstd, because labels repeat
};

inline constexpr char kAgeKey[] = "age";
std::string EncodeTime(int64_t time_ns);
StatusOr<int64_t> DecodeTime(std::string_view body);

// Returns a key for a number. The keys sort in numeric order.
std::string NumberKey(uint64_t number);
uint64_t NumberOf(std::string_view key);

struct ReadPosition {
  int64_t offset = 0;
  LogFingerprint mark;
};
std::string EncodePosition(const ReadPosition& position);
StatusOr<ReadPosition> DecodePosition(std::string_view body);

// Facts about one boot of a source. Each field is a minimum, a maximum, or the value from the batch
// with the highest sequence number, so ingesting a batch twice changes nothing.
struct SourceMeta {
  OriginPtr origin;
  int64_t start_ns = 0;
  int64_t first_ns = INT64_MAX;  // time of the first sample
  int64_t last_ns = INT64_MIN;
  int64_t interval_ns = 0;
  uint64_t sequence = 0;  // highest sequence number
  bool goodbye = false;
  int64_t goodbye_ns = 0;  // progress of the source at the time of the goodbye; 0 if unknown
  int64_t first_step_ns = INT64_MAX;  // start of the first step
  int64_t last_step_ns = INT64_MIN;   // end of the last step
  std::string owner;
  std::string job_name;
  JobReference reference;
  // Members between the origin and goodbye_ns.
  static constexpr auto BinaryMembers() {
    using T = SourceMeta;
    return std::tuple(&T::start_ns, &T::first_ns, &T::last_ns, &T::interval_ns, &T::first_step_ns,
                      &T::last_step_ns, &T::sequence, &T::goodbye, &T::owner, &T::job_name,
                      &T::reference);
  }
};
std::string BootKey(const Origin& origin);
std::string EncodeBoot(const SourceMeta& boot);
StatusOr<SourceMeta> DecodeBoot(std::string_view body);

StatusOr<store::DatabaseRow> PackedSchemaRow(const std::string& job, const Schema& schema);
// Decodes a schema row of either kind.
StatusOr<Schema> DecodeSchema(const store::DatabaseRow& row);

// Sealed window and the sequence numbers of the batches in its segment.
struct SealedWindow {
  SegmentMeta facts;
  std::map<OriginKey, SequenceRanges> seen;
};
store::DatabaseRow SegmentRow(const SegmentMeta& facts,
                              const std::map<OriginKey, SequenceRanges>& seen);
StatusOr<SealedWindow> DecodeSegment(std::string_view body);

struct KeptRecord {
  EventTopic topic = EventTopic::kIssues;
  uint64_t number = 0;  // in order of ingestion
  std::string value;
};
std::string EncodeRecord(const KeptRecord& record);
StatusOr<KeptRecord> DecodeRecord(const store::DatabaseRow& row);

// Marker for a deleted job. The records that had been read before the deletion are not ingested
// again.
struct Tombstone {
  // Records of one input that had been read.
  struct ReadRecords {
    int64_t end = 0;                       // offset after the last record
    int64_t newest_append_ns = INT64_MAX;  // append time of the newest record; maximum if unknown
  };
  // Inputs in the order telemetry, issues, actions, captures, and notifications.
  std::array<ReadRecords, 5> inputs;

  // Returns true if the record had been read. A record below `end` that was appended later belongs
  // to a log that has replaced the former one.
  bool Covers(size_t input, const Record& record) const {
    return record.offset < inputs[input].end &&
           record.append_time.ns() <= inputs[input].newest_append_ns;
  }
};
std::string EncodeTombstone(const Tombstone& tombstone);
StatusOr<Tombstone> DecodeTombstone(std::string_view body);

}  // namespace pitwall::history
