// Target for one or more processes on this node. Sends SIGTERM to exactly these processes. The job
// has stopped once all processes have exited.
#pragma once

#include <string>

#include "services/executor/targets/process_control.h"
#include "services/executor/targets/stop_target.h"

namespace pitwall::executor {

// Handles references whose platform is "process". Processes on other nodes belong to the executors
// on those nodes. Jobs without a known owner are refused. `processes` is borrowed.
class ProcessTarget final : public StopTarget {
 public:
  ProcessTarget(ProcessControl* processes, std::string node)
      : processes_(processes), node_(std::move(node)) {}

  std::string_view name() const override { return "process"; }
  Claim Claims(const JobReference& reference) const override;
  StopCheck Check(const ActionEvent& stop) override;
  StatusOr<std::string> Stop(const ActionEvent& stop) override;
  StatusOr<StopEffect> Effect(const ActionEvent& stop) override;

 private:
  ProcessControl* const processes_;
  const std::string node_;
};

}  // namespace pitwall::executor
