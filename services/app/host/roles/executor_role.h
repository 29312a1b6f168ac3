// Executor in this process and the configured targets for stopping jobs.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "services/app/config/config.h"
#include "services/app/host/service.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/executor/executor.h"
#include "services/executor/targets/command.h"
#include "services/executor/targets/process_control.h"
#include "services/executor/targets/stop_target.h"
#include "services/io/http_transport.h"
#include "services/io/io.h"
#include "services/self_metrics/exposition.h"

namespace pitwall {

// All pointers are borrowed.
class ExecutorRole final : public Service {
 public:
  ExecutorRole(Clock* clock, Log* log, self_metrics::Exposition* exposition)
      : clock_(clock), log_(log), exposition_(exposition) {}

  std::string_view name() const override { return "executor"; }
  Status Start(const Config& config) override;
  void Stop() override;
  Status Health() const override { return executor_->Health(); }
  Status Ready() const override;

 private:
  // Adds all targets except processes.
  Status AddTargets(const ExecutorConfig& config);
  StatusOr<std::unique_ptr<executor::StopTarget>> KubernetesStops(const KubernetesConfig& config);
  std::unique_ptr<executor::StopTarget> SlurmStops(const SlurmConfig& config);
  StatusOr<std::unique_ptr<executor::StopTarget>> WebhookStops(const StopWebhookConfig& config);

  Clock* const clock_;
  Log* const log_;
  self_metrics::Exposition* const exposition_;
  std::unique_ptr<executor::ProcessControl> processes_;
  std::vector<std::unique_ptr<HttpTransport>> stop_transports_;  // used by the targets below
  std::unique_ptr<executor::CommandRunner> commands_;            // used by a target below
  std::vector<std::unique_ptr<executor::StopTarget>> stop_targets_;
  std::unique_ptr<executor::Executor> executor_;
};

}  // namespace pitwall
