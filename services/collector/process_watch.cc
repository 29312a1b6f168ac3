#include "services/collector/process_watch.h"

#include <algorithm>
#include <utility>

#include "services/base/strings.h"
#include "services/collector/proc_file.h"
#include "services/collector/text_scan.h"

namespace pitwall::collector {
namespace {

constexpr size_t kMaxAncestors = 16;
// The kernel counts a kill before the process is gone; a look comes a moment later.
constexpr int64_t kOomWithinNs = 5 * kNanosPerSecond;

struct Stat {
  char state = '?';
  int64_t parent = 0;
  uint64_t threads = 0;
  uint64_t start_ticks = 0;
  uint64_t exit_status = 0;  // as wait(2) gives it; 0 also where it may not be read
};

std::optional<Stat> ReadStat(const std::string& root, int64_t pid) {
  ProcFile file(UnderRoot(root, Cat("proc/", pid, "/stat")));
  const auto text = file.Read();
  const size_t bracket = text ? text->rfind(')') : std::string_view::npos;  // names hold anything
  if (bracket == std::string_view::npos) return std::nullopt;
  TextScan fields(text->substr(bracket + 1));
  Stat stat;
  const std::string_view state = fields.Word();
  if (!state.empty()) stat.state = state[0];
  stat.parent = static_cast<int64_t>(fields.Number().value_or(0));
  for (int field = 5; field < 20; ++field) fields.Word();
  stat.threads = fields.Number().value_or(0);
  fields.Word();
  const auto start = fields.Number();
  if (!start.has_value()) return std::nullopt;
  stat.start_ticks = *start;
  for (int field = 23; field < 52; ++field) fields.Word();
  stat.exit_status = fields.Number().value_or(0);
  return stat;
}

// Its parent has not taken its status yet. (A main thread that ended before the others looks alike,
// but is not alone.)
bool HasEnded(const Stat& stat) {
  return (stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1;
}

// The number after `key` at the beginning of a line.
std::optional<uint64_t> NumberOf(const std::string& path, std::string_view key) {
  ProcFile file(path);
  const auto text = file.Read();
  if (!text.has_value()) return std::nullopt;
  TextScan lines(*text);
  for (std::string_view line; lines.Line(&line);) {
    TextScan words(line);
    if (words.Word() == key) return words.Number();
  }
  return std::nullopt;
}

}  // namespace

ProcessWatch::ProcessWatch(std::string root, const Clock& clock)
    : root_(std::move(root)), clock_(clock) {}

WatchedProcess ProcessWatch::Begin(const Peer& peer) {
  WatchedProcess watched;
  if (peer.pid <= 0) return watched;
  const std::optional<Stat> self = ReadStat(root_, peer.pid);
  if (!self.has_value()) return watched;
  watched.self = {peer.pid, self->start_ticks};
  for (int64_t pid = self->parent; pid > 1 && watched.ancestors.size() < kMaxAncestors;) {
    const std::optional<Stat> stat = ReadStat(root_, pid);
    if (!stat.has_value()) break;
    watched.ancestors.push_back({pid, stat->start_ticks});
    pid = stat->parent;
  }
  watched.oom_file = OomFileOf(peer.pid);
  ReadOomCount(watched.oom_file);
  return watched;
}

bool ProcessWatch::Runs(const ProcessKey& process) const {
  const std::optional<Stat> stat = ReadStat(root_, process.pid);
  return stat.has_value() && stat->start_ticks == process.start_ticks && !HasEnded(*stat);
}

std::optional<ProcessEnd> ProcessWatch::EndOf(const WatchedProcess& process) {
  if (process.self.pid <= 0) return std::nullopt;
  const std::optional<Stat> stat = ReadStat(root_, process.self.pid);
  const bool there = stat.has_value() && stat->start_ticks == process.self.start_ticks;
  if (there && !HasEnded(*stat)) return std::nullopt;
  ProcessEnd end;
  if (there && stat->exit_status != 0) {
    const auto signal = static_cast<int32_t>(stat->exit_status & 0x7f);
    if (signal != 0) {
      end.signal = signal;
    } else {
      end.exit_code = static_cast<int32_t>((stat->exit_status >> 8) & 0xff);
    }
  }
  ReadOomCount(process.oom_file);
  const auto count = oom_counts_.find(process.oom_file);
  end.oom_killed = count != oom_counts_.end() &&
                   clock_.MonotonicNs() - count->second.grew_at_ns <= kOomWithinNs &&
                   end.signal.value_or(9) == 9 && !end.exit_code.has_value();
  return end;
}

void ProcessWatch::ReadOomCounts(const std::vector<const WatchedProcess*>& watched) {
  absl::erase_if(oom_counts_, [&](const auto& entry) {
    return std::none_of(watched.begin(), watched.end(), [&](const WatchedProcess* process) {
      return process->oom_file == entry.first;
    });
  });
  for (const auto& [file, count] : oom_counts_) ReadOomCount(file);
}

std::string ProcessWatch::OomFileOf(int64_t pid) const {
  ProcFile file(UnderRoot(root_, Cat("proc/", pid, "/cgroup")));
  const auto text = file.Read();
  std::string found;
  TextScan lines(text.value_or(std::string_view()));
  for (std::string_view line; lines.Line(&line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    // "/../x" is what a reader in another cgroup namespace sees.
    if (path.find("..") != std::string_view::npos) continue;
    std::string candidate;
    if (controllers.empty()) {
      candidate = UnderRoot(root_, Cat("sys/fs/cgroup", path, "/memory.events"));
    } else if (controllers == "memory") {
      candidate = UnderRoot(root_, Cat("sys/fs/cgroup/memory", path, "/memory.oom_control"));
    }
    if (!candidate.empty() && NumberOf(candidate, "oom_kill").has_value())
      found = std::move(candidate);
  }
  // The root group counts nothing of its own: the machine does.
  return found.empty() ? UnderRoot(root_, "proc/vmstat") : found;
}

void ProcessWatch::ReadOomCount(const std::string& file) {
  const std::optional<uint64_t> kills = NumberOf(file, "oom_kill");
  if (!kills.has_value()) return;
  const auto [count, first] = oom_counts_.try_emplace(file);
  if (!first && *kills > count->second.kills) count->second.grew_at_ns = clock_.MonotonicNs();
  count->second.kills = *kills;
}

}  // namespace pitwall::collector
