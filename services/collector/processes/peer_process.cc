#include "services/collector/processes/peer_process.h"

#include <optional>

#include "services/base/text/strings.h"
#include "services/collector/files/proc_file.h"
#include "services/collector/files/text_scan.h"
#include "services/model/owner.h"

namespace pitwall::collector {
namespace {

// Returns field 22 of /proc/<pid>/stat, which is the start time in clock ticks since the machine's
// boot.
std::optional<uint64_t> StartTicks(ProcFile* stat) {
  const auto text = stat->Read();
  const size_t bracket =
      text ? text->rfind(')') : std::string_view::npos;  // names may contain any character
  if (bracket == std::string_view::npos) return std::nullopt;
  TextScan fields(text->substr(bracket + 1));
  for (int field = 3; field < 22; ++field) fields.Word();
  return fields.Number();
}

std::optional<uint64_t> EffectiveUser(ProcFile* status) {
  const auto text = status->Read();
  if (!text) return std::nullopt;
  TextScan lines(*text);
  for (std::string_view line; lines.Line(&line);) {
    TextScan words(line);
    if (words.Word() != "Uid:") continue;
    words.Word();  // the real user ID
    return words.Number();
  }
  return std::nullopt;
}

}  // namespace

std::string PodOf(const std::string& root, int64_t pid) {
  if (pid <= 0) return "";
  ProcFile file(UnderRoot(root, Cat("proc/", pid, "/cgroup")));
  const auto text = file.Read(64u << 10);
  return text.has_value() ? PodOfCgroup(*text) : "";
}

JobReference ProcessReference(const std::string& root, std::string_view node, const Peer& peer) {
  if (peer.pid <= 0 || peer.uid < 0) return {};
  const std::string directory = UnderRoot(root, Cat("proc/", peer.pid));
  ProcFile stat(Cat(directory, "/stat"));
  ProcFile status(Cat(directory, "/status"));
  const std::optional<uint64_t> start = StartTicks(&stat);
  const std::optional<uint64_t> user = EffectiveUser(&status);
  // The open `stat` file belongs to one process. If it can be reread, `status` belonged to the same
  // process.
  if (!start || !user || static_cast<int64_t>(*user) != peer.uid || StartTicks(&stat) != start)
    return {};
  JobReference reference;
  reference.platform = "process";
  reference.kind = "pid";
  reference.name = Cat(peer.pid);
  reference.uid = Cat(peer.pid, "@", node, "/", *start);
  return reference;
}

}  // namespace pitwall::collector
