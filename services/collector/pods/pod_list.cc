#include "services/collector/pods/pod_list.h"

#include <algorithm>
#include <array>

#include "services/base/clock.h"
#include "services/base/text/strings.h"
#include "services/codec/json/json_reader.h"
#include "services/model/owner.h"

namespace pitwall::collector {
namespace {

using codec::JsonReader;

constexpr size_t kMaxReason = 100;
constexpr size_t kIdLength = 64;

// Converts "containerd://<id>" to "<id>".
std::string IdOf(std::string_view text) {
  const size_t at = text.find("://");
  return std::string(at == std::string_view::npos ? text : text.substr(at + 3));
}

std::string Short(std::string text) {
  if (text.size() > kMaxReason) text.resize(kMaxReason);
  return text;
}

void ReadContainer(const JsonReader& in, std::vector<ContainerState>* out) {
  const std::string name = in.String("name");
  const auto ended = [&](const JsonReader& state, const std::string& id) {
    const JsonReader end = state.Object("terminated");
    if (!state.Has("terminated")) return std::optional<ContainerState>();
    ContainerState container{name, id.empty() ? IdOf(end.String("containerID")) : id, {}};
    ContainerEnd& to = container.end.emplace();
    to.exit_code = static_cast<int32_t>(std::min<uint64_t>(end.Uint("exitCode"), 255));
    to.signal = static_cast<int32_t>(std::min<uint64_t>(end.Uint("signal"), 255));
    to.reason = Short(end.String("reason"));
    to.finished_at_ns = end.Time("finishedAt");
    return std::optional(std::move(container));
  };
  const std::string id = IdOf(in.String("containerID"));
  const JsonReader state = in.Object("state");
  auto now = ended(state, id);
  // While a container is waiting to restart, its last state describes the previous instance.
  auto before = ended(in.Object("lastState"), "");
  if (before && before->id == id && !now) {
    now = std::move(before);
    before.reset();
  }
  out->push_back(now ? *std::move(now) : ContainerState{name, id, {}});
  if (before && before->id != id) out->push_back(*std::move(before));
}

// Reads only controller kinds that an executor can stop by name. For other kinds, ranks keep their
// process references.
void ReadController(const JsonReader& metadata, PodState* pod) {
  metadata.ForEachObject("ownerReferences", [&](const JsonReader& owner) {
    if (!owner.Bool("controller")) return;  // at most one of the owners is the controller
    const std::string version = owner.String("apiVersion");
    const std::string kind = owner.String("kind");
    const bool known = (kind == "Job" && StartsWith(version, "batch/")) ||
                       (kind == "PyTorchJob" && StartsWith(version, "kubeflow.org/"));
    if (!known) return;
    pod->controller.platform = "kubernetes";
    pod->controller.namespace_name = pod->namespace_name;
    pod->controller.kind = kind;
    pod->controller.name = owner.String("name");
    pod->controller.uid = owner.String("uid");
  });
}

}  // namespace

StatusOr<std::vector<PodState>> ParsePodList(std::string_view json, size_t max_bytes) {
  ASSIGN_OR_RETURN(const JsonReader in, JsonReader::Parse(json, max_bytes));
  const std::string kind = in.String("kind");
  if (kind != "PodList")
    in.Fail("kind", Cat("must be PodList (got ", Quote(kind.substr(0, 100)), ")"));
  std::vector<PodState> pods;
  in.ForEachObject("items", [&](const JsonReader& item) {
    PodState pod;
    const JsonReader metadata = item.Object("metadata");
    pod.uid = metadata.String("uid");
    pod.name = metadata.String("name");
    pod.namespace_name = metadata.String("namespace");
    ReadController(metadata, &pod);
    if (metadata.Has("deletionTimestamp")) {
      // deletionTimestamp is the end of the grace period, not its start.
      const uint64_t grace_s = metadata.Uint("deletionGracePeriodSeconds");
      const int64_t grace_ns =
          static_cast<int64_t>(std::min<uint64_t>(grace_s, 1u << 30)) * kNanosPerSecond;
      pod.delete_asked_at_ns = metadata.Time("deletionTimestamp") - grace_ns;
    }
    const JsonReader status = item.Object("status");
    pod.reason = Short(status.String("reason"));
    status.ForEachObject("conditions", [&](const JsonReader& condition) {
      if (condition.String("type") == "DisruptionTarget" && condition.String("status") == "True")
        pod.disruption = Short(condition.String("reason"));
    });
    for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
      status.ForEachObject(
          list, [&](const JsonReader& container) { ReadContainer(container, &pod.containers); });
    }
    if (!pod.uid.empty()) pods.push_back(std::move(pod));
  });
  RETURN_IF_ERROR(in.status());
  return pods;
}

PlatformEnd EndOf(const PodState& pod, const ContainerEnd& container) {
  PlatformEnd end;
  if (container.signal != 0) {
    end.signal = container.signal;
  } else {
    end.exit_code = container.exit_code;
  }
  end.oom_killed = container.reason == "OOMKilled";
  constexpr std::array kPurposes = {"PreemptionByScheduler", "EvictionByEvictionAPI",
                                    "DeletionByTaintManager", "DeletionByPodGC"};
  // Times in a PodList have a resolution of one second.
  const bool deleted =
      pod.delete_asked_at_ns != 0 && pod.delete_asked_at_ns <= container.finished_at_ns;
  if (std::find(kPurposes.begin(), kPurposes.end(), pod.disruption) != kPurposes.end()) {
    end.on_purpose = true;
    end.cause = pod.disruption;
  } else if (pod.reason == "DeadlineExceeded") {
    end.on_purpose = true;
    end.cause = pod.reason;
  } else if (!pod.reason.empty()) {
    end.cause = pod.reason;  // Evicted, Terminated (node shutdown), …
  } else if (deleted && container.exit_code != 0) {
    end.on_purpose = true;
    end.cause = "pod deleted";
  }
  if (end.oom_killed) {
    end.on_purpose = false;
    end.cause.clear();
  }
  return end;
}

std::string ContainerOfCgroup(std::string_view text) {
  if (PodOfCgroup(text).empty()) return "";
  for (std::string_view line : Split(text, '\n')) {
    if (PodOfCgroup(line).empty()) continue;
    const std::vector<std::string_view> names = Split(line, '/');
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      std::string_view id = *name;
      // The name is "cri-containerd-<id>.scope", "crio-<id>.scope", "docker-<id>.scope", or "<id>".
      if (EndsWith(id, ".scope")) id.remove_suffix(6);
      if (const size_t dash = id.rfind('-'); dash != std::string_view::npos)
        id.remove_prefix(dash + 1);
      const bool hex = id.size() == kIdLength && std::all_of(id.begin(), id.end(), [](char c) {
                         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                       });
      if (hex) return std::string(id);
    }
  }
  return "";
}

}  // namespace pitwall::collector
