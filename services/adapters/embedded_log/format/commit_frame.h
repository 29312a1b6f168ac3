// Commit journal frame: the changes made by one commit. Checkpoint frames have the same format and
// hold the accumulated state.
//
// Layout: magic "PWF1", u32 payload length, u32 CRC32C of the length and payload, payload.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/io/io.h"

namespace pitwall::log {

inline constexpr size_t kFrameHeaderBytes = 12;
inline constexpr size_t kMaxFrameBytes = size_t{16} << 20;
inline constexpr size_t kMaxMetadataBytes = 4096;
inline constexpr size_t kMaxNameBytes = 1024;  // maximum length of a group or transactional ID

// Partition, identified by its topic's number (topic_catalog.h).
struct PartitionKey {
  uint32_t topic = 0;
  int32_t partition = 0;
  friend auto operator<=>(const PartitionKey&, const PartitionKey&) = default;
};

// End of a partition's committed records. In a commit frame, also the start of that commit's
// records.
struct PartitionEnd {
  PartitionKey key;
  int64_t segment_base = 0;  // segment that contains the end
  int64_t from_bytes = 0;    // start of the commit in that segment; to_bytes in a checkpoint
  int64_t to_bytes = 0;
  int64_t from_offset = 0;
  int64_t to_offset = 0;     // first unused offset
  int64_t last_time_ns = 0;  // newest append time
};

struct GroupPosition {
  std::string group;
  PartitionKey key;
  CommittedOffset at;
};

struct CommitterEpoch {
  std::string id;
  uint64_t epoch = 0;
};

// Topic metadata in the journal. Must match the topic's directory.
struct TopicFact {
  uint32_t number = 0;
  std::string name;
  TopicConfig config;
};

// Closed segment. Its file must exist and have this size.
struct SegmentFact {
  PartitionKey key;
  int64_t base = 0;
  int64_t end = 0;   // first offset after the segment
  uint64_t run = 0;  // number of the compaction that wrote it; 0 if appended
  int64_t bytes = 0;
};

// First offset that retention has not deleted.
struct PartitionStart {
  PartitionKey key;
  int64_t offset = 0;
};

// Offsets that a repair declared lost. Readers receive an error for them instead of a silent gap.
struct LostRange {
  PartitionKey key;
  int64_t from = 0;
  int64_t to = 0;
  int64_t noted_ns = 0;  // wall time of the repair
};

enum class FrameKind : uint8_t {
  kState = 1,          // one part of a checkpoint
  kCheckpointEnd = 2,  // end of a checkpoint, after its last part
  kCommit = 3,
  kSynced = 4,  // not a commit: only synced_sequence and other facts
};

struct Frame {
  FrameKind kind = FrameKind::kCommit;
  uint64_t sequence = 0;  // increases by one per commit or synced frame
  // When this frame was written, all frames up to this sequence and their records were on disk.
  uint64_t synced_sequence = 0;
  std::vector<PartitionEnd> ends;
  std::vector<GroupPosition> positions;
  std::vector<CommitterEpoch> epochs;
  // Fields added in journal format 2. A segment replaces the segments that its range covers.
  std::vector<TopicFact> topics;
  std::vector<SegmentFact> segments;
  std::vector<PartitionStart> starts;
  std::vector<LostRange> lost;
  std::vector<LostRange> forgotten;  // lost ranges that compaction removed long after the repair
};

// Appends the encoded frame to `out`. Returns ResourceExhausted if the frame is too large.
Status EncodeFrame(const Frame& frame, std::string* out);
// Decodes the frame at the start of `bytes` and sets *size to its encoded size. Returns DataLoss if
// the frame is truncated, has a wrong checksum, or does not parse.
StatusOr<Frame> DecodeFrame(std::string_view bytes, size_t* size);

inline constexpr size_t kJournalHeaderBytes = 16;
// Magic numbers of journal files. Format 2 adds topics and segments; format 1 is still readable.
inline constexpr std::string_view kJournalMagic = "PWJRN002";
inline constexpr std::string_view kJournalMagic1 = "PWJRN001";
std::string JournalHeader(uint64_t number);
// Returns the format version: 1 or 2, a higher number if a newer version wrote the file, or 0 if
// this is not a journal header.
int JournalFormat(std::string_view content);

struct ScannedFrame {
  Frame frame;
  int64_t from = 0;
  int64_t to = 0;
};
struct JournalScan {
  int format = 0;                    // JournalFormat of the content; frames are read in any case
  std::vector<ScannedFrame> frames;  // readable frames in file order
  // Start of the first damaged section, or -1 if there is no damage.
  int64_t damage_from = -1;
  std::string damage_reason;
  // True if the damaged section is at the end of the file or contains zeros, so it probably
  // consists of pages that never reached the disk. Flipped bits do not cause this pattern.
  bool looks_torn = false;
  // Index in `frames` of the first frame after the damage (frames.size() if no frame follows).
  size_t first_behind = 0;
};
// Returns true if damaged bytes may be pages that did not reach the disk before a power loss. Such
// bytes end with zeros or contain a long run of zeros. `position` is the file offset of the bytes.
bool LooksTorn(std::string_view bytes, int64_t position);
// Reads all frames of a journal file, including frames after a damaged section.
JournalScan ScanJournal(std::string_view content);

}  // namespace pitwall::log
