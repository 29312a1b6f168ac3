// Target for jobs that are stopped by an administrator's program. Sends the job and the reason in a
// signed POST request. The reply contains the result.
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
  // Globs for the platforms whose jobs this target stops. "*" does not include processes on nodes.
  std::vector<std::string> platforms = {"*"};
  CallLimits limits;
  size_t max_remembered = 1000;  // number of replies kept for Effect
};

// The body is the decision as a CloudEvent, io.pitwall.action.decided, with the rule, the evidence,
// and the job's owner and reference. The webhook-id header contains the decision's ID. It is the
// same for all attempts, so a receiver can ignore duplicates. The receiver replies 200 with
// {"result": "done"} or {"result": "refused"}, and optionally {"reason": "…"}. Any other reply is a
// failure. The receiver must check that the owner may stop the job, because the job's clients
// supply the reference.
//
// Thread-safe. The clock and transport are borrowed.
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
  // Reasons from "done" replies, by decision ID.
  std::map<std::string, std::string, std::less<>> done_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pitwall::executor
