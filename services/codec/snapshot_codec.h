// Codec of job snapshots and their chunks on pitwall.state (state.proto).
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

// Maximum size of an encoded chunk, all fields included.
inline constexpr size_t kSnapshotChunkBytes = 512u * 1024;

// State of one job after all records of its partition below `offset`.
struct Snapshot {
  std::string job;
  int64_t offset = 0;
  std::string rule_set_hash;
  uint32_t format = 0;         // layout of the payload, which the owner of the payload interprets
  uint64_t payload_bytes = 0;  // uncompressed
  std::vector<std::string> pieces;  // the compressed payload, divided
};

// Limits that the writer and the reader share: an assembler accepts everything that SplitSnapshot
// writes under the same limits.
struct SnapshotLimits {
  size_t uncompressed_bytes = size_t{64} << 30;  // of one snapshot, and of all its pieces together
  size_t pending_snapshots = 1u << 16;           // incomplete snapshots in an assembler
};

// Compresses the payload (zstd, piece by piece) into one or more encoded SnapshotChunks, each with
// CRC-32C of piece and header. Deterministic. InvalidArgument: the job is empty, or job or rule set
// hash has more than 1 KiB. ResourceExhausted: the payload exceeds the limit, or zstd is out of
// memory.
StatusOr<std::vector<std::string>> SplitSnapshot(std::string_view job, int64_t offset,
                                                 std::string_view rule_set_hash, uint32_t format,
                                                 std::string_view payload,
                                                 const SnapshotLimits& limits = {});

// Returns the payload of an assembled snapshot. DataLoss: damaged.
StatusOr<std::string> UnpackSnapshot(const Snapshot& snapshot);

// Assembles snapshots from chunks in any order and of any number of jobs. Rejects a chunk that is
// damaged (not a chunk, wrong CRC), too large, or inconsistent with other chunks of the snapshot.
// The error names job, offset, and index, and the snapshot is never completed. Not thread-safe.
class SnapshotAssembler {
 public:
  explicit SnapshotAssembler(const SnapshotLimits& limits = {});

  // Returns the snapshot, still compressed, if this chunk completes it. DataLoss: damaged or mixed;
  // ResourceExhausted: beyond a limit. A duplicate chunk is not an error.
  StatusOr<std::optional<Snapshot>> Add(std::string_view chunk);

  // Returns one line per incomplete or rejected snapshot: `job "x" offset 17: 3 of 5 chunks`.
  // Ordered by (job, offset).
  std::vector<std::string> Incomplete() const;
  // Drops all chunks of a job.
  void Drop(std::string_view job);

 private:
  struct Pending {
    uint32_t chunks = 0;
    uint32_t format = 0;
    uint64_t uncompressed_bytes = 0;
    uint64_t bytes = 0;  // of the pieces
    std::string rule_set_hash;
    std::map<uint32_t, std::string> pieces;
    std::string refused;  // reason for rejecting all further chunks; "": none
  };
  using Key = std::pair<std::string, int64_t>;

  Status Refuse(Pending& pending, Status why);

  SnapshotLimits limits_;
  std::map<Key, Pending> pending_;
};

}  // namespace pitwall::codec
