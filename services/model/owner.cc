#include "services/model/owner.h"

#include <algorithm>
#include <optional>

#include "services/base/text/strings.h"

namespace pitwall {
namespace {

constexpr std::string_view kUid = "uid:";
constexpr std::string_view kPod = "pod:";
constexpr size_t kMaxPod = 128;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsPodChar(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

bool IsUid(std::string_view text) {
  if (text.empty() || text.size() > 10 || !std::all_of(text.begin(), text.end(), IsDigit))
    return false;
  if (text.size() > 1 && text[0] == '0')
    return false;  // each user has exactly one canonical string
  const std::optional<int64_t> number = ParseInt(text);
  return number.has_value() && *number <= int64_t{UINT32_MAX} - 1;
}

bool IsPod(std::string_view text) {
  return !text.empty() && text.size() <= kMaxPod &&
         std::all_of(text.begin(), text.end(), IsPodChar);
}

// Returns "1234-5678" for "kubepods-burstable-pod1234_5678.slice" (systemd) and "pod1234-5678"
// (cgroupfs).
std::string PodOfGroup(std::string_view name) {
  if (EndsWith(name, ".slice")) name.remove_suffix(6);
  if (StartsWith(name, "kubelet-")) name.remove_prefix(8);
  if (StartsWith(name, "kubepods-")) {
    const size_t at = name.rfind("-pod");
    if (at == std::string_view::npos) return "";
    name.remove_prefix(at + 1);
  }
  if (!StartsWith(name, "pod")) return "";
  std::string pod(name.substr(3));
  std::replace(pod.begin(), pod.end(), '_', '-');
  // Matches a UUID or the hash of a static pod. The kubelet's other cgroups have different names.
  return pod.size() >= 32 && IsPod(pod) ? pod : "";
}

}  // namespace

std::string OwnerOf(int64_t uid, std::string_view pod) {
  if (!pod.empty()) return Cat(kPod, pod);
  return uid < 0 ? "" : Cat(kUid, uid);
}

Status CheckOwner(std::string_view owner) {
  if (StartsWith(owner, kUid) && IsUid(owner.substr(kUid.size()))) return OkStatus();
  if (StartsWith(owner, kPod) && IsPod(owner.substr(kPod.size()))) return OkStatus();
  return InvalidArgument(
      Cat("owner ", Quote(owner.substr(0, 200)), ": must be uid:<number> or pod:<uid>"));
}

std::string PodOfCgroup(std::string_view text) {
  for (std::string_view line : Split(text, '\n')) {
    // Line format: <number>:<controllers>:<path>
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    bool outside = false;  // the path leads out of the reader's own cgroup
    bool kubelet = false;
    for (std::string_view name : Split(line.substr(second + 1), '/')) {
      if (name.empty()) continue;
      if (name == "..") {
        outside = true;
        continue;
      }
      if (!kubelet) {
        const bool pods = name == "kubepods" || name == "kubepods.slice" || name == "kubelet" ||
                          name == "kubelet.slice";
        // Inside a pod, the paths of other cgroups are relative to the reader's own cgroup.
        if (!pods && !(outside && (StartsWith(name, "kubepods-") || StartsWith(name, "pod"))))
          break;
        kubelet = true;
      }
      if (std::string pod = PodOfGroup(name); !pod.empty()) return pod;
    }
  }
  return "";
}

std::string_view OwnerClass(std::string_view owner) {
  if (owner == "uid:0") return "root";
  if (StartsWith(owner, kUid)) return "user";
  return StartsWith(owner, kPod) ? "pod" : "unknown";
}

std::string OwnerIdPrefix(std::string_view owner) {
  if (StartsWith(owner, kUid)) return Cat("u", owner.substr(kUid.size()), ":");
  if (StartsWith(owner, kPod)) return Cat("pod-", owner.substr(kPod.size()), ":");
  return "";
}

std::string OwnerOfJobId(std::string_view job_id) {
  const size_t colon = job_id.find(':');
  if (colon == std::string_view::npos) return "";
  const std::string_view head = job_id.substr(0, colon);
  if (StartsWith(head, "u") && IsUid(head.substr(1))) return Cat(kUid, head.substr(1));
  if (StartsWith(head, "pod-") && IsPod(head.substr(4))) return Cat(kPod, head.substr(4));
  return "";
}

}  // namespace pitwall
