// Jobs of a Slurm cluster: scancel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "services/executor/targets/command.h"
#include "services/executor/targets/stop_target.h"

namespace pitwall::executor {

struct SlurmOptions {
  std::string cluster;              // its name in references; "": jobs of every cluster
  std::string scancel = "scancel";  // paths, or names in PATH
  std::string scontrol = "scontrol";
  int64_t timeout_ns = 10 * kNanosPerSecond;  // of one command
};

// References of platform "slurm", whose uid is the number of the job. The job's user must be the
// owner that the issue names, and it must not be over; scancel is told the user again, so that it
// ends no job of another, whatever happened since. Slurm itself asks the job's processes to end
// (SIGTERM) and kills them after its KillWait.
//
// Rights: slurmctld lets the job's user, an operator, root and its own user end a job; the service
// must run as one of the last three.
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
  // Each look is a request to slurmctld.
  int64_t look_interval_ns() const override { return kNanosPerSecond; }
  void Cancel() override { runner_->Cancel(); }

 private:
  struct Job {
    std::string state;  // RUNNING, COMPLETING, CANCELLED, …
    int64_t user = -1;
  };
  // NotFound: slurmctld knows no such job (any more).
  StatusOr<Job> Look(const JobReference& reference);

  CommandRunner* const runner_;
  const SlurmOptions options_;
};

}  // namespace pitwall::executor
