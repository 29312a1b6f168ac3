// One frame of the commit journal: what one commit made true. Also the frames of a checkpoint,
// which hold the sum of all before them.
//
// A frame: magic "PWF1", u32 length of the payload, u32 CRC32C of length and payload, payload.
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
inline constexpr size_t kMaxNameBytes = 1024;  // of a group or a transactional id

// A partition by its topic's number (topic_catalog.h).
struct PartitionKey {
  uint32_t topic = 0;
  int32_t partition = 0;
  friend auto operator<=>(const PartitionKey&, const PartitionKey&) = default;
};

// Where a partition's committed records end. In a commit also where that commit's began.
struct PartitionEnd {
  PartitionKey key;
  int64_t segment_base = 0;  // segment that holds the end
  int64_t from_bytes = 0;  // the commit's bytes in that segment; in a checkpoint equal to to_bytes
  int64_t to_bytes = 0;
  int64_t from_offset = 0;
  int64_t to_offset = 0;     // first offset not used
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

// A topic as the journal knows it: what its folder must say.
struct TopicFact {
  uint32_t number = 0;
  std::string name;
  TopicConfig config;
};

// A segment that nothing is appended to any more: its file must be there, and have these bytes.
struct SegmentFact {
  PartitionKey key;
  int64_t base = 0;
  int64_t end = 0;   // first offset behind it
  uint64_t run = 0;  // 0: appended; else the compaction that wrote it
  int64_t bytes = 0;
};

// The first offset that retention has not taken.
struct PartitionStart {
  PartitionKey key;
  int64_t offset = 0;
};

// Offsets that a repair gave up: readers hear of them instead of a silent gap.
struct LostRange {
  PartitionKey key;
  int64_t from = 0;
  int64_t to = 0;
  int64_t noted_ns = 0;  // wall time of the repair
};

enum class FrameKind : uint8_t {
  kState = 1,          // a part of a checkpoint
  kCheckpointEnd = 2,  // all parts were before this
  kCommit = 3,
  kSynced = 4,  // nothing new, but synced_sequence
};

struct Frame {
  FrameKind kind = FrameKind::kCommit;
  uint64_t sequence = 0;  // grows by one per commit or synced frame
  // The frames up to this one, and the records that they cover, were on the disk when this one was
  // written.
  uint64_t synced_sequence = 0;
  std::vector<PartitionEnd> ends;
  std::vector<GroupPosition> positions;
  std::vector<CommitterEpoch> epochs;
  // Since journal format 2. A segment replaces those that its range covers.
  std::vector<TopicFact> topics;
  std::vector<SegmentFact> segments;
  std::vector<PartitionStart> starts;
  std::vector<LostRange> lost;
  std::vector<LostRange> forgotten;  // no longer told: compaction, long after the repair
};

// ResourceExhausted when the frame is too large.
Status EncodeFrame(const Frame& frame, std::string* out);
// DataLoss: cut short, wrong checksum, or a payload that does not parse. *size: bytes of the frame.
StatusOr<Frame> DecodeFrame(std::string_view bytes, size_t* size);

inline constexpr size_t kJournalHeaderBytes = 16;
// Format 2 adds what it knows of topics and segments; format 1 is read as well.
inline constexpr std::string_view kJournalMagic = "PWJRN002";
inline constexpr std::string_view kJournalMagic1 = "PWJRN001";
std::string JournalHeader(uint64_t number);
// 1 or 2; greater: written by a newer version; 0: not a journal header.
int JournalFormat(std::string_view content);

struct ScannedFrame {
  Frame frame;
  int64_t from = 0;
  int64_t to = 0;
};
struct JournalScan {
  int format = 0;  // JournalFormat of the content; frames are looked for whatever it is
  std::vector<ScannedFrame> frames;  // readable ones, in order
  // The first stretch that is no frame; -1 when there is none.
  int64_t damage_from = -1;
  std::string damage_reason;
  // Whether the stretch looks like pages that did not reach the disk: it ends the file, or is
  // zeros. Flipped bits do not.
  bool looks_torn = false;
  // Index in `frames` of the first frame behind the damage (frames.size() when none).
  size_t first_behind = 0;
};
// Whether bytes that are damaged may be pages that a power cut kept from the disk: zeros at their
// end, or a long run of zeros. `position`: where in the file they begin.
bool LooksTorn(std::string_view bytes, int64_t position);
// Reads all frames of a journal file, also those behind a damaged stretch.
JournalScan ScanJournal(std::string_view content);

}  // namespace pitwall::log
