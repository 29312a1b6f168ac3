// Jobs that are objects of Kubernetes: a Job (batch/v1) and a PyTorchJob (kubeflow.org/v1) are
// suspended, so that object and history stay, or deleted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/clock.h"
#include "services/executor/targets/retrying_http.h"
#include "services/executor/targets/stop_target.h"

namespace pitwall::executor {

// Annotation of the object that names the owner whose job of Pitwall it is: "uid:1000",
// "pod:<uid>". Whoever may write the object says it; a client of Pitwall cannot.
inline constexpr std::string_view kOwnerAnnotation = "pitwall.io/owner";

struct KubernetesOptions {
  std::string server;      // https://host:port
  std::string token_file;  // read again for each call: the kubelet exchanges it
  std::string cluster;     // its name in references; "": jobs of every cluster are this one's
  bool delete_objects = false;
  // Whether the pod that owns the job may be looked for among the object's pods, where the
  // annotation does not name the owner. Needs the right to list pods.
  bool list_pods = false;
  CallLimits limits;
};

// References of platform "kubernetes". The object is the one of that uid, else nothing is done: the
// uid is a precondition of the call itself. Rights: get and patch (or delete) of the kinds, in the
// namespaces of the jobs. Check asks the API server whether it would carry out the call
// (dryRun=All), so a right that is missing is told before anything is decided.
//
// Thread-safe. Clock and transport are borrowed; the transport must trust the server's certificate.
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
  // InvalidArgument: the reference names no object that may be stopped.
  static StatusOr<const Kind*> KindOf(const JobReference& reference);
  std::string Path(const Kind& kind, const JobReference& reference) const;
  StatusOr<HttpReply> Call(std::string_view method, const std::string& path,
                           std::string_view content_type, const std::string& body);
  // The call that stops the object. `dry`: the server only says what it would answer.
  Status Change(const Kind& kind, const JobReference& reference, bool dry);
  // OK where the object may be stopped for this owner.
  Status CheckOwner(const ActionEvent& stop, std::string_view annotated);
  StatusOr<bool> IsOfPod(const JobReference& reference, std::string_view pod);

  const KubernetesOptions options_;
  RetryingHttp caller_;
};

}  // namespace pitwall::executor
