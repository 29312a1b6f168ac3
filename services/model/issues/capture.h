// Capture of a job's processes at one point in time, requested by a user or a rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/time.h"

namespace pitwall {

// Limits for one rank's reply.
inline constexpr size_t kMaxCaptureThreads = 64;
inline constexpr size_t kMaxCaptureFrames = 64;        // frames per thread
inline constexpr size_t kMaxCaptureText = 200;         // bytes per frame or name
inline constexpr size_t kMaxCaptureBytes = 64u << 10;  // bytes per reply of a rank
inline constexpr size_t kMaxCaptureRanks = 4096;       // ranks per request
inline constexpr int64_t kCaptureGapNs =
    2'000'000'000;  // time between the two observations of a process

// Capture request, a record on pitwall.control.
struct CaptureRequest {
  std::string id;              // duplicates are ignored
  std::string job;             // ID or name
  std::vector<int64_t> ranks;  // empty: all
  std::string issue;           // IssueId() of the requesting issue; "": requested by a user
  std::string principal;       // requester: "uid:1000", "act", "rule <name>"
  EventTime expires;           // wall time of expiry
};

enum class CaptureState {
  kCollective,
  kLoader,
  kCheckpoint,
  kEvaluation,
  kBusy,
  kBlocked,
  kStopped
};
std::string_view CaptureStateName(CaptureState state);  // e.g. "collective"
std::optional<CaptureState> ParseCaptureState(std::string_view name);

// Collective that a rank has started but not completed.
struct OpenCollective {
  std::string group;
  std::string operation;
  uint64_t sequence = 0;  // sequence within the group, from 1; 0: unknown
  uint64_t bytes = 0;
  friend bool operator==(const OpenCollective&, const OpenCollective&) = default;
};

struct CapturedThread {
  uint64_t id = 0;  // thread ID of the operating system
  std::string name;
  bool main = false;
  std::vector<std::string> frames;  // innermost first; Python or kernel frames
  std::string system;               // kernel state: "S, in futex_wait_queue, system call 202"
  friend bool operator==(const CapturedThread&, const CapturedThread&) = default;
};

// State of a process at one point in time, as reported by the process or the operating system.
struct CaptureLook {
  bool stopped = false;  // stopped by a signal or a debugger
  std::string phase;
  std::string mode;
  uint64_t step_plus_one = 0;  // step of the mode, plus one; 0: no step
  std::optional<OpenCollective> collective;
  std::vector<CapturedThread> threads;  // the main thread first
  bool python = false;                  // the frames are Python frames
  double cpu_seconds = 0;               // CPU time since the process started
  std::optional<uint64_t> io_bytes;     // bytes read and written; nullopt: unknown
};

// Changes in a process between two observations that are kCaptureGapNs apart.
struct CaptureChange {
  bool went_on = false;              // reached another step or collective
  double cpu_share = 0;              // share of one core
  std::optional<uint64_t> io_bytes;  // bytes read and written between the observations
  std::optional<bool> same_stacks;   // equal stacks of all threads; nullopt: not comparable
};
CaptureChange ChangeBetween(const CaptureLook& first, const CaptureLook& second, double seconds);

// Returns the state of a rank from two observations. A rank that is stopped in the second
// observation is stopped. A collective, loader, checkpoint, or evaluation counts if it is in both
// observations, but a rank that made progress is not stuck in a collective or loader. Otherwise,
// the rank is busy if it made progress, entered or left one of these states, changed its stack,
// used at least a twentieth of a core, or transferred at least 64 KiB. In all other cases, it is
// blocked.
CaptureState StateOf(const CaptureLook& first, const CaptureLook& second,
                     const CaptureChange& change);

// Maximum CPU share of a blocked rank. Monitoring itself uses less.
inline constexpr double kBlockedCpuShare = 0.05;
inline constexpr uint64_t kBlockedIoBytes = 64u << 10;

// One rank's reply, a record on pitwall.captures.
struct RankCapture {
  std::string request;
  std::string issue;
  std::string principal;
  std::string job;
  std::string job_name;
  std::string owner;
  int64_t rank = 0;
  int64_t world_size = 0;  // 0: unknown
  std::string node;
  int64_t pid = 0;
  EventTime time;  // time of the second observation
  CaptureState state = CaptureState::kBlocked;
  std::string source;      // client, system
  std::string why_system;  // reason why the client did not reply
  CaptureLook look;        // the second observation
  CaptureChange change;
  std::vector<std::string> operators;  // operators of the last profile, longest first
  uint64_t left_out = 0;               // number of threads and frames omitted because of the limits
};

}  // namespace pitwall
