// A capture: what the processes of a job do at one moment, asked for by a person or by a rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pitwall {

// Bounds of what one rank answers.
inline constexpr size_t kMaxCaptureThreads = 64;
inline constexpr size_t kMaxCaptureFrames = 64;          // of a thread
inline constexpr size_t kMaxCaptureText = 200;           // of a frame or a name, in bytes
inline constexpr size_t kMaxCaptureBytes = 64u << 10;    // of a rank's answer
inline constexpr size_t kMaxCaptureRanks = 4096;         // named in a request
inline constexpr int64_t kCaptureGapNs = 2'000'000'000;  // between the two looks

// The record on pitwall.control.
struct CaptureRequest {
  std::string id;              // one that was seen before does nothing
  std::string job;             // id or name
  std::vector<int64_t> ranks;  // empty: all
  std::string issue;           // IssueId() of the issue that asks; "": a person does
  std::string principal;       // who asks: "uid:1000", "act", "rule <name>"
  int64_t expires_ns = 0;      // wall time; later it does nothing
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

// A collective that a rank has begun and not ended.
struct OpenCollective {
  std::string group;
  std::string operation;
  uint64_t sequence = 0;  // of the group, from 1; 0: not known
  uint64_t bytes = 0;
  friend bool operator==(const OpenCollective&, const OpenCollective&) = default;
};

struct CapturedThread {
  uint64_t id = 0;  // of the system
  std::string name;
  bool main = false;
  std::vector<std::string> frames;  // innermost first; of Python, or of the kernel
  std::string system;  // what the kernel says: "S, in futex_wait_queue, system call 202"
  friend bool operator==(const CapturedThread&, const CapturedThread&) = default;
};

// What a process said, or the system says of it, at one moment.
struct CaptureLook {
  bool stopped = false;  // by a signal or a debugger
  std::string phase;
  std::string mode;
  uint64_t step_plus_one = 0;  // of the mode; 0: none
  std::optional<OpenCollective> collective;
  std::vector<CapturedThread> threads;  // the main thread first
  bool python = false;                  // the frames are those of Python
  double cpu_seconds = 0;               // since the process began
  std::optional<uint64_t> io_bytes;     // read and written; nothing: not to be known
};

// What lies between two looks at one process, kCaptureGapNs apart.
struct CaptureChange {
  bool went_on = false;              // to another step or collective
  double cpu_share = 0;              // of one core
  std::optional<uint64_t> io_bytes;  // moved
  std::optional<bool> same_stacks;   // of all threads; nothing: not to be compared
};
CaptureChange ChangeBetween(const CaptureLook& first, const CaptureLook& second, double seconds);

// What a rank does, out of two looks. What holds at both decides: stopped; in a collective, in the
// loader, in a checkpoint, in an evaluation. A rank that went on is in no collective and no loader
// that it could be stuck in. Else the rank is busy when it went on, its stack changes, it uses
// a twentieth of a core or more, or moves bytes; and blocked when it does nothing of that.
CaptureState StateOf(const CaptureLook& first, const CaptureLook& second,
                     const CaptureChange& change);

// Below that a rank uses no CPU; so little is moved by what watches it.
inline constexpr double kBlockedCpuShare = 0.05;
inline constexpr uint64_t kBlockedIoBytes = 64u << 10;

// The record on pitwall.captures: one rank's answer.
struct RankCapture {
  std::string request;
  std::string issue;
  std::string principal;
  std::string job;
  std::string job_name;
  std::string owner;
  int64_t rank = 0;
  int64_t world_size = 0;  // 0: not known
  std::string node;
  int64_t pid = 0;
  int64_t time_ns = 0;  // of the second look
  CaptureState state = CaptureState::kBlocked;
  std::string source;      // client, system
  std::string why_system;  // why the client did not say it
  CaptureLook look;        // the second
  CaptureChange change;
  std::vector<std::string> operators;  // of the last profile, the longest first
  uint64_t left_out = 0;               // threads and frames beyond the bounds
};

}  // namespace pitwall
