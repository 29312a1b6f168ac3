// A job that is one or several processes of this node: SIGTERM to exactly those. It has stopped
// when all have ended.
#pragma once

#include <string>

#include "services/executor/targets/process_control.h"
#include "services/executor/targets/stop_target.h"

namespace pitwall::executor {

// References of platform "process". Those of other nodes are their executors'. A job whose owner is
// not known is refused. `processes` is borrowed.
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
