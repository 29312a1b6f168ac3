// Target for Kubernetes objects. Suspends a Job (batch/v1) or a PyTorchJob (kubeflow.org/v1), which
// preserves the object and its history, or deletes the object.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/clock.h"
#include "services/executor/targets/retrying_http.h"
#include "services/executor/targets/stop_target.h"

namespace pitwall::executor {

// Annotation that names the owner of the object's Pitwall job: "uid:1000" or "pod:<uid>". Users
// with write access to the object can set the annotation; Pitwall clients cannot.
inline constexpr std::string_view kOwnerAnnotation = "pitwall.io/owner";

struct KubernetesOptions {
  std::string server;      // https://host:port
  std::string token_file;  // read for every call, because the kubelet rotates the token
  std::string cluster;     // cluster name in references; "" matches all clusters
  bool delete_objects = false;
  // If true and the annotation is missing, the target looks for the owner among the object's pods.
  // Requires permission to list pods.
  bool list_pods = false;
  CallLimits limits;
};

// Handles references whose platform is "kubernetes". Acts only on the object with the uid in the
// reference. The uid is a precondition of the call itself. Required permissions: get and patch (or
// delete) for the supported kinds in the jobs' namespaces. Check sends the call to the API server
// with dryRun=All, so missing permissions are reported before a decision.
//
// Thread-safe. The clock and transport are borrowed. The transport must trust the server's
// certificate.
class KubernetesTarget final : public StopTarget {
 public:
  KubernetesTarget(Clock* clock, HttpTransport* transport, KubernetesOptions options)
      : options_(std::move(options)), caller_(clock, transport, options_.limits) {}

  std::string_view name() const override { return "kubernetes"; }
  Claim Claims(const JobReference& reference) const override;
  StopCheck Check(const ActionEvent& stop) override;
  StatusOr<std::string> Stop(const ActionEvent& stop) override;
  StatusOr<StopEffect> Effect(const ActionEvent& stop) override;
  int64_t look_interval_ns() const override { return kNanosPerSecond; }
  void Cancel() override { caller_.Cancel(); }

 private:
  struct Kind;
  static const Kind* Find(std::string_view kind);
  // Returns InvalidArgument if the object kind in the reference is not supported.
  static StatusOr<const Kind*> KindOf(const JobReference& reference);
  std::string Path(const Kind& kind, const JobReference& reference) const;
  StatusOr<HttpReply> Call(std::string_view method, const std::string& path,
                           std::string_view content_type, const std::string& body);
  // Sends the call that stops the object. If `dry` is true, the server only validates the call.
  Status Change(const Kind& kind, const JobReference& reference, bool dry);
  // Returns OK if the object may be stopped for this owner.
  Status CheckOwner(const ActionEvent& stop, std::string_view annotated);
  StatusOr<bool> IsOfPod(const JobReference& reference, std::string_view pod);

  const KubernetesOptions options_;
  RetryingHttp caller_;
};

}  // namespace pitwall::executor
