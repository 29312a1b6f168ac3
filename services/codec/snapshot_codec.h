// Codec for job snapshots and their chunks on pitwall.state (state.proto).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/status.h"

namespace pitwall::codec {

// Maximum size of an encoded chunk, including all fields.
inline constexpr size_t kSnapshotChunkBytes = 512u * 1024;

// State of one job after all records of its partition below `offset`.
struct Snapshot {
  std::string job;
  int64_t offset = 0;
  std::string rule_set_hash;
  uint32_t format = 0;              // payload layout, which the payload's owner interprets
  uint64_t payload_bytes = 0;       // uncompressed
  std::vector<std::string> pieces;  // the compressed payload in pieces
};

// Limits shared by the writer and the reader: an assembler accepts everything that SplitSnapshot
// writes under the same limits.
struct SnapshotLimits {
  size_t uncompressed_bytes = size_t{64}
                              << 30;    // for one snapshot, and for all its pieces together
  size_t pending_snapshots = 1u << 16;  // maximum number of incomplete snapshots in an assembler
};

// Compresses the payload (zstd) into one or more encoded SnapshotChunks, each with a CRC-32C of the
// piece and the header. Deterministic. Returns InvalidArgument if the job is empty, or the job or
// rule set hash exceeds 1 KiB. Returns ResourceExhausted if the payload exceeds the limit or zstd
// is out of memory.
StatusOr<std::vector<std::string>> SplitSnapshot(std::string_view job, int64_t offset,
                                                 std::string_view rule_set_hash, uint32_t format,
                                                 std::string_view payload,
                                                 const SnapshotLimits& limits = {});

// Returns the payload of an assembled snapshot, or DataLoss if it is damaged.
StatusOr<std::string> UnpackSnapshot(const Snapshot& snapshot);

// Assembles snapshots from chunks in any order and for any number of jobs. Rejects a chunk that is
// damaged (not a chunk, wrong CRC), too large, or inconsistent with other chunks of the snapshot.
// The error contains the job, offset, and index, and that snapshot is never completed. Not
// thread-safe.
class SnapshotAssembler {
 public:
  explicit SnapshotAssembler(const SnapshotLimits& limits = {});

  // Returns the snapshot, still compressed, if this chunk completes it. Returns DataLoss if the
  // chunk is damaged or inconsistent, and ResourceExhausted if a limit is exceeded. A duplicate
  // chunk is not an error.
  StatusOr<std::optional<Snapshot>> Add(std::string_view chunk);

  // Returns one line per incomplete or rejected snapshot, such as `job "x" offset 17: 3 of 5
  // chunks`, ordered by (job, offset).
  std::vector<std::string> Incomplete() const;
  // Drops all chunks of a job.
  void Drop(std::string_view job);

 private:
  struct Pending {
    uint32_t chunks = 0;
    uint32_t format = 0;
    uint64_t uncompressed_bytes = 0;
    uint64_t bytes = 0;  // total size of the pieces
    std::string rule_set_hash;
    std::map<uint32_t, std::string> pieces;
    std::string refused;  // reason for rejecting all further chunks; "" if they are accepted
  };
  using Key = std::pair<std::string, int64_t>;

  Status Refuse(Pending& pending, Status why);

  SnapshotLimits limits_;
  std::map<Key, Pending> pending_;
};

}  // namespace pitwall::codec
