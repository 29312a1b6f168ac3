#include "services/collector/processes/process_snapshot.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/model/sanitize_text.h"

namespace pitwall::collector {
namespace {

constexpr size_t kFileBytes = 16u << 10;
constexpr size_t kKernelFrames = 16;

struct TaskStat {
  std::string name;
  char state = '?';
  uint64_t cpu_ticks = 0;
  uint64_t start_ticks = 0;
};

std::optional<TaskStat> ReadTaskStat(const std::string& path) {
  ProcFile file(path);
  const auto text = file.Read(kFileBytes);
  if (!text.has_value()) return std::nullopt;
  const size_t open = text->find('('), close = text->rfind(')');  // names may contain any character
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  TaskStat stat;
  stat.name = SanitizeText(text->substr(open + 1, close - open - 1)).substr(0, kMaxCaptureText);
  TextScan fields(text->substr(close + 1));
  const std::string_view state = fields.Word();
  if (!state.empty()) stat.state = state[0];
  for (int field = 4; field < 14; ++field) fields.Word();
  const auto user = fields.Number(), system = fields.Number();
  for (int field = 16; field < 22; ++field) fields.Word();
  const auto start = fields.Number();
  if (!user.has_value() || !system.has_value() || !start.has_value()) return std::nullopt;
  stat.cpu_ticks = *user + *system;
  stat.start_ticks = *start;
  return stat;
}

std::string_view StateText(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "in uninterruptible sleep";
    case 'T':
      return "stopped";
    case 't':
      return "stopped by a debugger";
    case 'Z':
      return "ended";
    default:
      return "in an unknown state";
  }
}

std::string FirstWord(const std::string& path) {
  ProcFile file(path);
  const auto text = file.Read(kFileBytes);
  if (!text.has_value()) return "";
  return SanitizeText(TextScan(*text).Word()).substr(0, kMaxCaptureText);
}

std::vector<std::string> KernelStack(const std::string& path) {
  std::vector<std::string> frames;
  ProcFile file(path);
  const auto text = file.Read(kFileBytes);
  if (!text.has_value()) return frames;
  TextScan lines(*text);
  for (std::string_view line; frames.size() < kKernelFrames && lines.Line(&line);) {
    // A line looks like "[<0>] futex_wait+0x10c/0x260".
    if (const size_t end = line.find("] "); end != std::string_view::npos)
      line.remove_prefix(end + 2);
    frames.push_back(SanitizeText(line.substr(0, line.find('+'))).substr(0, kMaxCaptureText));
  }
  return frames;
}

std::optional<uint64_t> IoBytes(const std::string& path) {
  ProcFile file(path);
  const auto text = file.Read(kFileBytes);
  if (!text.has_value()) return std::nullopt;
  uint64_t sum = 0;
  TextScan lines(*text);
  for (std::string_view line; lines.Line(&line);) {
    TextScan words(line);
    const std::string_view key = words.Word();
    if (key == "rchar:" || key == "wchar:" || key == "read_bytes:" || key == "write_bytes:")
      sum += words.Number().value_or(0);
  }
  return sum;
}

CapturedThread LookAtThread(const std::string& task, uint64_t id, const TaskStat& stat) {
  CapturedThread thread;
  thread.id = id;
  thread.name = stat.name;
  thread.frames = KernelStack(task + "/stack");
  thread.system = StateText(stat.state);
  const std::string waits = FirstWord(task + "/wchan");
  if (!waits.empty() && waits != "0") CatTo(thread.system, ", in ", waits);
  const std::string call = FirstWord(task + "/syscall");
  if (TextScan::ToNumber(call).has_value()) CatTo(thread.system, ", system call ", call);
  return thread;
}

}  // namespace

std::optional<CaptureLook> InspectProcess(const std::string& root, const ProcessKey& process) {
  if (process.pid <= 0) return std::nullopt;
  const std::string dir = UnderRoot(root, Cat("proc/", process.pid));
  const std::optional<TaskStat> self = ReadTaskStat(dir + "/stat");
  if (!self.has_value() || self->start_ticks != process.start_ticks) return std::nullopt;
  CaptureLook look;
  look.stopped = self->state == 'T' || self->state == 't';
  look.cpu_seconds =
      static_cast<double>(self->cpu_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
  look.io_bytes = IoBytes(dir + "/io");
  std::vector<uint64_t> ids;
  for (const std::string& name : NamesIn(dir + "/task")) {
    if (const auto id = TextScan::ToNumber(name); id.has_value()) ids.push_back(*id);
  }
  const auto main = static_cast<uint64_t>(process.pid);
  std::sort(ids.begin(), ids.end(), [main](uint64_t a, uint64_t b) {
    return std::pair(a != main, a) < std::pair(b != main, b);
  });
  if (ids.size() > kMaxCaptureThreads) ids.resize(kMaxCaptureThreads);
  for (const uint64_t id : ids) {
    const std::string task = Cat(dir, "/task/", id);
    const std::optional<TaskStat> stat = ReadTaskStat(task + "/stat");
    if (!stat.has_value()) continue;
    look.threads.push_back(LookAtThread(task, id, *stat));
    look.threads.back().main = id == main;
  }
  return look;
}

}  // namespace pitwall::collector
