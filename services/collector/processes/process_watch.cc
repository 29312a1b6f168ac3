#include "services/collector/processes/process_watch.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

#include "services/base/status.h"
#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"

namespace pitwall::collector {
namespace {

constexpr size_t kMaxAncestors = 16;
constexpr uint64_t kSigkill = uint64_t{1} << (9 - 1);  // bit in the signal mask

struct Stat {
  char state = '?';
  int64_t parent = 0;
  uint64_t threads = 0;
  uint64_t start_ticks = 0;
  ProcessImage image;
  uint64_t exit_status = 0;  // wait(2) status; also 0 if reading it is not permitted
};

// Reads /proc/<pid>/stat. Returns NotFound if the process does not exist, and Unavailable if its
// state is unknown.
StatusOr<Stat> ReadStat(const std::string& root, int64_t pid) {
  ProcFile file(UnderRoot(root, Cat("proc/", pid, "/stat")));
  const auto text = file.Read();
  if (!text.has_value()) {
    if (IsAbsence(file.error())) return NotFound(Cat("process ", pid, " does not exist"));
    return Unavailable(Cat(file.path(), ": ", std::strerror(file.error())));
  }
  const auto malformed = [&] { return Unavailable(Cat(file.path(), ": malformed")); };
  const size_t bracket = text->rfind(')');  // names may contain any character
  if (bracket == std::string_view::npos) return malformed();
  TextScan fields(text->substr(bracket + 1));
  Stat stat;
  const std::string_view state = fields.Word();
  if (!state.empty()) stat.state = state[0];
  stat.parent = static_cast<int64_t>(fields.Number().value_or(0));
  for (int field = 5; field < 20; ++field) fields.Word();
  stat.threads = fields.Number().value_or(0);
  fields.Word();
  const auto start = fields.Number();
  if (!start.has_value()) return malformed();
  stat.start_ticks = *start;
  for (int field = 23; field < 26; ++field) fields.Word();
  stat.image.start_code = fields.Number().value_or(0);
  stat.image.end_code = fields.Number().value_or(0);
  stat.image.start_stack = fields.Number().value_or(0);
  for (int field = 29; field < 52; ++field) fields.Word();
  stat.exit_status = fields.Number().value_or(0);
  return stat;
}

// Returns true if the process has ended but has not been reaped by its parent yet. If the main
// thread ended before the other threads, the state is the same, but the thread count is higher.
bool HasEnded(const Stat& stat) {
  return (stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1;
}

// Returns the number that follows `key` at the start of a line. Returns NotFound if the file or
// line does not exist, and Unavailable if the file cannot be read.
StatusOr<uint64_t> NumberOf(const std::string& path, std::string_view key) {
  ProcFile file(path);
  const auto text = file.Read();
  if (!text.has_value() && !IsAbsence(file.error()))
    return Unavailable(Cat(path, ": ", std::strerror(file.error())));
  TextScan lines(text.value_or(std::string_view()));
  for (std::string_view line; lines.Line(&line);) {
    TextScan words(line);
    if (words.Word() != key) continue;
    if (const auto number = words.Number(); number.has_value()) return *number;
  }
  return NotFound(Cat(path, ": ", key, " not found"));
}

// Returns the number of kills in the file, or nullopt if the file cannot be read. The number is 0
// if the file was removed.
std::optional<uint64_t> KillsIn(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const StatusOr<uint64_t> kills = NumberOf(path, "oom_kill");
  if (kills.ok()) return *kills;
  if (absl::IsNotFound(kills.status())) return 0;
  return std::nullopt;
}

}  // namespace

WatchedProcess ProcessWatch::Begin(const Peer& peer) {
  WatchedProcess watched;
  if (peer.pid <= 0) return watched;
  if (root_ == "/") watched.exit = ProcessExit::Of(peer.pid);
  const StatusOr<Stat> self = ReadStat(root_, peer.pid);
  if (!self.ok()) return watched;
  watched.self = {peer.pid, self->start_ticks};
  watched.image = self->image;
  for (int64_t pid = self->parent; pid > 1 && watched.ancestors.size() < kMaxAncestors;) {
    const StatusOr<Stat> stat = ReadStat(root_, pid);
    if (!stat.ok()) break;
    watched.ancestors.push_back({pid, stat->start_ticks});
    pid = stat->parent;
  }
  watched.oom_file = OomFileOf(peer.pid);
  if (const auto kills = KillsIn(watched.oom_file); kills.has_value())
    survived_[{watched.self.pid, watched.self.start_ticks}] = *kills;
  return watched;
}

void ProcessWatch::Follow(WatchedProcess* process) const {
  if (root_ == "/") process->exit = ProcessExit::Of(process->self.pid);
  const StatusOr<Stat> stat = ReadStat(root_, process->self.pid);
  const bool same = stat.ok() && stat->start_ticks == process->self.start_ticks;
  if (!same || HasEnded(*stat)) process->exit = nullptr;  // the PID now belongs to another process
}

bool ProcessWatch::Runs(const ProcessKey& process) const {
  const StatusOr<Stat> stat = ReadStat(root_, process.pid);
  if (!stat.ok()) return !absl::IsNotFound(stat.status());
  return stat->start_ticks == process.start_ticks && !HasEnded(*stat);
}

std::optional<ProcessKey> ProcessWatch::ParentOf(int64_t pid) const {
  if (pid <= 0) return std::nullopt;
  const StatusOr<Stat> self = ReadStat(root_, pid);
  if (!self.ok()) return std::nullopt;
  const StatusOr<Stat> parent = ReadStat(root_, self->parent);
  if (!parent.ok()) return std::nullopt;
  return ProcessKey{self->parent, parent->start_ticks};
}

std::optional<ProcessEnd> ProcessWatch::EndOf(const WatchedProcess& process) {
  if (process.self.pid <= 0) return std::nullopt;
  const StatusOr<Stat> stat = ReadStat(root_, process.self.pid);
  const bool there = stat.ok() && stat->start_ticks == process.self.start_ticks;
  if (there && !HasEnded(*stat)) {
    if (!process.image.known() || !stat->image.known() || stat->image == process.image)
      return std::nullopt;
    return ProcessEnd{.signal = {}, .exit_code = 0};
  }
  const bool unknown = !stat.ok() && !absl::IsNotFound(stat.status());
  if (unknown && (process.exit == nullptr || !process.exit->Ended())) return std::nullopt;
  ProcessEnd end;
  std::optional<int> status;
  // Without read permission, the status and the image are shown as 0.
  if (there && (stat->exit_status != 0 || process.image.known())) {
    status = static_cast<int>(stat->exit_status);
  } else if (process.exit != nullptr) {
    status = process.exit->Status();
  }
  if (status.has_value()) {
    if (const int32_t signal = *status & 0x7f; signal != 0) {
      end.signal = signal;
    } else {
      end.exit_code = (*status >> 8) & 0xff;
    }
  }
  const auto survived = survived_.find({process.self.pid, process.self.start_ticks});
  end.oom_killed = survived != survived_.end() && end.signal.value_or(9) == 9 &&
                   !end.exit_code.has_value() &&
                   KillsIn(process.oom_file).value_or(0) > survived->second;
  return end;
}

void ProcessWatch::ReadOomCounts(const std::vector<const WatchedProcess*>& watched) {
  std::map<std::string_view, std::optional<uint64_t>> counts;  // number of kills by cgroup file
  std::map<std::pair<int64_t, uint64_t>, uint64_t> survived;
  for (const WatchedProcess* process : watched) {
    if (process->self.pid <= 0) continue;
    const auto [count, fresh] = counts.try_emplace(process->oom_file);
    if (fresh) count->second = KillsIn(process->oom_file);
    const std::pair key(process->self.pid, process->self.start_ticks);
    const auto known = survived_.find(key);
    if (!count->second.has_value()) {
      if (known != survived_.end()) survived.insert(*known);
      continue;
    }
    const uint64_t now = *count->second;
    uint64_t kills = known == survived_.end() ? now : known->second;
    // The kernel counts a kill shortly before it sends the signal.
    if (now > kills && Runs(process->self) && !IsBeingKilled(process->self.pid)) kills = now;
    survived[key] = kills;
  }
  survived_ = std::move(survived);
}

bool ProcessWatch::IsBeingKilled(int64_t pid) const {
  ProcFile file(UnderRoot(root_, Cat("proc/", pid, "/status")));
  const auto text = file.Read();
  if (!text.has_value()) return true;
  TextScan lines(*text);
  for (std::string_view line; lines.Line(&line);) {
    TextScan words(line);
    const std::string_view name = words.Word();
    if (name != "SigPnd:" && name != "ShdPnd:") continue;
    const std::string_view mask = words.Word();
    uint64_t signals = 0;
    std::from_chars(mask.data(), mask.data() + mask.size(), signals, 16);
    if ((signals & kSigkill) != 0) return true;
  }
  return false;
}

std::string ProcessWatch::OomFileOf(int64_t pid) const {
  ProcFile file(UnderRoot(root_, Cat("proc/", pid, "/cgroup")));
  const auto text = file.Read();
  if (!text.has_value() && !IsAbsence(file.error())) return "";
  std::string found;
  TextScan lines(text.value_or(std::string_view()));
  for (std::string_view line; lines.Line(&line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    // A reader in another cgroup namespace sees a path like "/../x".
    if (path.find("..") != std::string_view::npos) continue;
    // The local file is preferred, because the other file includes child groups.
    std::vector<std::string> candidates;
    if (controllers.empty()) {
      const std::string group = UnderRoot(root_, Cat("sys/fs/cgroup", path));
      candidates = {Cat(group, "/memory.events.local"), Cat(group, "/memory.events")};
    } else if (controllers == "memory") {
      candidates = {UnderRoot(root_, Cat("sys/fs/cgroup/memory", path, "/memory.oom_control"))};
    }
    for (std::string& candidate : candidates) {
      const StatusOr<uint64_t> kills = NumberOf(candidate, "oom_kill");
      if (absl::IsUnavailable(kills.status())) return "";
      if (!kills.ok()) continue;
      found = std::move(candidate);
      break;
    }
  }
  // The root group has no counter, so the machine's counter is used.
  return found.empty() ? UnderRoot(root_, "proc/vmstat") : found;
}

}  // namespace pitwall::collector
