// Target for Slurm jobs. Stops a job with scancel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/executor/targets/command.h"
#include "services/executor/targets/stop_target.h"

namespace pitwall::executor {

struct SlurmOptions {
  std::string cluster;              // cluster name in references; "" matches all clusters
  std::string scancel = "scancel";  // paths, or names in PATH
  std::string scontrol = "scontrol";
  int64_t timeout_ns = 10 * kNanosPerSecond;  // timeout of each command
};

// Handles references whose platform is "slurm". The uid is the job number. The job's user must be
// the owner, and the job must not have finished. The user is also passed to scancel, so it
// never cancels another user's job. Slurm sends SIGTERM to the job's processes and kills them after
// KillWait.
//
// Permissions: slurmctld accepts a cancellation by the job's user, an operator, root, or SlurmUser.
// The service must run as one of the last three.
//
// Thread-safe. The runner is borrowed.
class SlurmTarget final : public StopTarget {
 public:
  SlurmTarget(CommandRunner* runner, SlurmOptions options)
      : runner_(runner), options_(std::move(options)) {}

  std::string_view name() const override { return "slurm"; }
  Claim Claims(const JobReference& reference) const override;
  StopCheck Check(const ActionEvent& stop) override;
  StatusOr<std::string> Stop(const ActionEvent& stop) override;
  StatusOr<StopEffect> Effect(const ActionEvent& stop) override;
  // Each check sends a request to slurmctld.
  int64_t look_interval_ns() const override { return kNanosPerSecond; }
  void Cancel() override { runner_->Cancel(); }

 private:
  struct Job {
    std::string state;  // RUNNING, COMPLETING, CANCELLED, …
    int64_t user = -1;
  };
  // Returns NotFound if slurmctld does not know the job or has already removed it.
  StatusOr<Job> Look(const JobReference& reference);

  CommandRunner* const runner_;
  const SlurmOptions options_;
};

}  // namespace pitwall::executor
