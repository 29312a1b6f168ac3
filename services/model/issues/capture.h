// Capture of the state of a job's processes at one moment, requested by a person or by a rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pitwall {

// Limits of the reply of one rank.
inline constexpr size_t kMaxCaptureThreads = 64;
inline constexpr size_t kMaxCaptureFrames = 64;          // of a thread
inline constexpr size_t kMaxCaptureText = 200;           // of a frame or a name, in bytes
inline constexpr size_t kMaxCaptureBytes = 64u << 10;    // of a rank's reply
inline constexpr size_t kMaxCaptureRanks = 4096;         // in a request
inline constexpr int64_t kCaptureGapNs = 2'000'000'000;  // between the two looks

// Record on pitwall.control.
struct CaptureRequest {
  std::string id;              // duplicates are ignored
  std::string job;             // ID or name
  std::vector<int64_t> ranks;  // empty: all
  std::string issue;           // IssueId() of the requesting issue; "": a person
  std::string principal;       // requester: "uid:1000", "act", "rule <name>"
  int64_t expires_ns = 0;      // wall time of expiry
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
std::string_view CaptureStateName(CaptureState state);  // collective, loader, …
std::optional<CaptureState> ParseCaptureState(std::string_view name);

// A collective that a rank has begun and not completed.
struct OpenCollective {
  std::string group;
  std::string operation;
  uint64_t sequence = 0;  // within the group, from 1; 0: unknown
  uint64_t bytes = 0;
  friend bool operator==(const OpenCollective&, const OpenCollective&) = default;
};

struct CapturedThread {
  uint64_t id = 0;  // of the operating system
  std::string name;
  bool main = false;
  std::vector<std::string> frames;  // innermost first; of Python, or of the kernel
  std::string system;  // state in the kernel: "S, in futex_wait_queue, system call 202"
  friend bool operator==(const CapturedThread&, const CapturedThread&) = default;
};

// State of a process at one moment, as reported by the process or by the operating system.
struct CaptureLook {
  bool stopped = false;  // by a signal or a debugger
  std::string phase;
  std::string mode;
  uint64_t step_plus_one = 0;  // of the mode; 0: no step
  std::optional<OpenCollective> collective;
  std::vector<CapturedThread> threads;  // the main thread first
  bool python = false;                  // the frames are those of Python
  double cpu_seconds = 0;               // since the start of the process
  std::optional<uint64_t> io_bytes;     // read and written; nothing: unknown
};

// Change between two looks at one process, kCaptureGapNs apart.
struct CaptureChange {
  bool went_on = false;              // to another step or collective
  double cpu_share = 0;              // of one core
  std::optional<uint64_t> io_bytes;  // read and written in between
  std::optional<bool> same_stacks;   // of all threads; nothing: not comparable
};
CaptureChange ChangeBetween(const CaptureLook& first, const CaptureLook& second, double seconds);

// Returns the state of a rank from two looks. A state at both looks decides: stopped; in a
// collective, in the loader, in a checkpoint, in an evaluation. A rank that made progress is not
// stuck in a collective or loader. Otherwise the rank is busy if it made progress, its stack
// changes, it uses a twentieth of a core or more, or transfers bytes; else it is blocked.
CaptureState StateOf(const CaptureLook& first, const CaptureLook& second,
                     const CaptureChange& change);

// Maximum CPU share of a blocked rank; monitoring itself uses less.
inline constexpr double kBlockedCpuShare = 0.05;
inline constexpr uint64_t kBlockedIoBytes = 64u << 10;

// Record on pitwall.captures: the reply of one rank.
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
  int64_t time_ns = 0;  // of the second look
  CaptureState state = CaptureState::kBlocked;
  std::string source;      // client, system
  std::string why_system;  // reason why the client did not reply
  CaptureLook look;        // the second look
  CaptureChange change;
  std::vector<std::string> operators;  // of the last profile, by duration, longest first
  uint64_t left_out = 0;               // threads and frames over the limits
};

}  // namespace pitwall
