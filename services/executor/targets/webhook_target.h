// Target for jobs that a program of the administrator stops: a signed POST has the job and the
// reason; the reply has the result.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/executor/targets/retrying_http.h"
#include "services/executor/targets/stop_target.h"

namespace pitwall::executor {

struct WebhookTargetOptions {
  std::string url;
  std::shared_ptr<const WebhookSigner> signer;
  // Globs of the platforms whose jobs it stops. "*" does not include processes of nodes.
  std::vector<std::string> platforms = {"*"};
  CallLimits limits;
  size_t max_remembered = 1000;  // replies, for the effect
};

// The body is the decision as a CloudEvent, io.pitwall.action.decided, with rule, evidence, owner,
// and reference of the job. The header webhook-id is the decision's ID, the same for each attempt,
// so that a receiver can ignore duplicates. The receiver replies 200 with {"result": "done"} or
// {"result": "refused"}, and optionally {"reason": "…"}.
// Any other reply is a failure. The receiver must check that the owner may stop the job: clients of
// the job supply the reference.
//
// Thread-safe. Clock and transport are borrowed.
class WebhookTarget final : public StopTarget {
 public:
  WebhookTarget(Clock* clock, HttpTransport* transport, WebhookTargetOptions options)
      : clock_(clock), options_(std::move(options)), caller_(clock, transport, options_.limits) {}

  std::string_view name() const override { return "webhook"; }
  Claim Claims(const JobReference& reference) const override;
  StopCheck Check(const ActionEvent& stop) override;
  StatusOr<std::string> Stop(const ActionEvent& stop) override;
  StatusOr<StopEffect> Effect(const ActionEvent& stop) override;
  void Cancel() override { caller_.Cancel(); }

 private:
  Clock* const clock_;
  const WebhookTargetOptions options_;
  RetryingHttp caller_;
  Mutex mutex_;
  // Reason of each "done", by decision ID.
  std::map<std::string, std::string, std::less<>> done_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::executor
