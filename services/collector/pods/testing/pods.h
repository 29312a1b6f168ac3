// PodLists for tests, in the format of a real API server (v1.31), reduced to a few pods.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::collector {

inline constexpr std::string_view kPodUid = "5d0b2a1e-7c5e-4a52-9f3a-0d2f7b8c9e10";
inline constexpr std::string_view kContainer =
    "4f1f0a7d8e6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b1c0d";

inline std::string PodListOf(std::string_view items) {
  return Cat(R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"123456"},)",
             R"("items":[)", items, "]}");
}

// Returns {"terminated": …}, the state of a container that ended at 10:00:30.
inline std::string Terminated(int exit_code, std::string_view reason) {
  return Cat(R"({"terminated":{"exitCode":)", exit_code, R"(,"reason":")", reason,
             R"(","startedAt":"2026-11-24T09:00:00Z","finishedAt":"2026-11-24T10:00:30Z",)",
             R"("containerID":"containerd://)", kContainer, R"("}})");
}

struct PodParts {
  std::string status;         // state of the current instance
  std::string last = "{}";    // state of the previous instance
  std::string metadata = "";  // additional keys, with a leading comma
  std::string pod = "";       // keys in the pod's status, with a trailing comma
};

inline std::string PodText(const PodParts& parts) {
  return Cat(
      R"({"metadata":{"name":"bert-0","generateName":"bert-","namespace":"research","uid":")",
      kPodUid, R"(","resourceVersion":"123","creationTimestamp":"2026-11-24T08:59:50Z",)",
      R"("labels":{"batch.kubernetes.io/job-name":"bert","job-name":"bert"},"ownerReferences":)",
      R"([{"apiVersion":"batch/v1","kind":"Job","name":"bert","uid":"a1","controller":true}])",
      parts.metadata,
      R"(},"spec":{"nodeName":"n1","containers":[{"name":"train","image":"t:1"}]},)",
      R"("status":{)", parts.pod,
      R"("phase":"Running","hostIP":"10.0.0.1","podIPs":[{"ip":"10.1.0.7"}],"containerStatuses":)",
      R"([{"name":"train","state":)", parts.status, R"(,"lastState":)", parts.last,
      R"(,"ready":false,"restartCount":0,"image":"t:1","imageID":"sha256:0","containerID":)",
      R"("containerd://)", kContainer, R"(","started":false}],"qosClass":"Burstable"}})");
}

}  // namespace pitwall::collector
