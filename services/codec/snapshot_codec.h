// Job snapshots <-> the chunks on pitwall.state (state.proto).
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

// An encoded chunk is at most this long, everything included.
inline constexpr size_t kSnapshotChunkBytes = 512u * 1024;

// One job's state after every record below `offset` of its partition.
struct Snapshot {
  std::string job;
  int64_t offset = 0;
  std::string rule_set_hash;
  uint32_t format =
      0;  // layout of the payload: the owner of the payload decides which ones it knows
  uint64_t payload_bytes = 0;       // uncompressed
  std::vector<std::string> pieces;  // the payload, compressed and cut
};

// The bounds that writer and reader share: what SplitSnapshot writes under them, an assembler with
// the same ones takes.
struct SnapshotLimits {
  size_t uncompressed_bytes = size_t{64} << 30;  // of one snapshot; its pieces together too
  size_t pending_snapshots = 1u << 16;           // of an assembler: incomplete ones
};

// Compresses the payload (zstd, piece by piece) into encoded SnapshotChunks (at least one), each
// with CRC-32C of piece and header. Deterministic. InvalidArgument: job or rule set hash longer
// than 1 KiB; ResourceExhausted: payload beyond the limit, or zstd has no memory.
StatusOr<std::vector<std::string>> SplitSnapshot(std::string_view job, int64_t offset,
                                                 std::string_view rule_set_hash, uint32_t format,
                                                 std::string_view payload,
                                                 const SnapshotLimits& limits = {});

// The payload of an assembled snapshot. DataLoss: damaged.
StatusOr<std::string> UnpackSnapshot(const Snapshot& snapshot);

// Puts chunks, in any order and of any number of jobs, together again. Not thread-safe.
// A chunk that is damaged (not a chunk, wrong CRC), too large, or that disagrees with its siblings
// is refused with a reason that names job, offset and index; the siblings collected so far then
// never become a snapshot.
class SnapshotAssembler {
 public:
  explicit SnapshotAssembler(const SnapshotLimits& limits = {});

  // The snapshot, still compressed, when this chunk was the last one missing. DataLoss: damaged or
  // mixed; ResourceExhausted: beyond a limit. The same chunk twice is no error.
  StatusOr<std::optional<Snapshot>> Add(std::string_view chunk);

  // What is still incomplete or refused, one line each: `job "x" offset 17: 3 of 5 chunks`. Ordered
  // by (job, offset).
  std::vector<std::string> Incomplete() const;
  // Forgets everything about a job.
  void Drop(std::string_view job);

 private:
  struct Pending {
    uint32_t chunks = 0;
    uint32_t format = 0;
    uint64_t uncompressed_bytes = 0;
    uint64_t bytes = 0;  // of the pieces
    std::string rule_set_hash;
    std::map<uint32_t, std::string> pieces;
    std::string refused;  // why nothing more is taken; "" when all is well
  };
  using Key = std::pair<std::string, int64_t>;

  Status Refuse(Pending& pending, Status why);

  SnapshotLimits limits_;
  std::map<Key, Pending> pending_;
};

}  // namespace pitwall::codec
