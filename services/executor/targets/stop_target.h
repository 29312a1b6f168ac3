// Targets for stopping jobs. The job's reference selects the target: a process on this node, a
// Kubernetes object, a Slurm job, or a call to an administrator's program.
//
// Requirements for an implementation:
//  * Check has no side effects. It refuses the stop if the job differs from the one in the
//    reference (same name, different uid), does not belong to the owner, or has ended.
//  * Stop is called once for a recorded decision, after a successful Check. Stop checks the uid and
//    the owner again when it acts. A job that has already stopped counts as a success. Stop never
//    affects another job and never blocks indefinitely.
//  * Effect does not change the job. It returns the result of the stop.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/model/issues/action.h"

namespace pitwall::executor {

struct StopCheck {
  std::string refusal;  // reason why the job must not be stopped, or "" if it may be stopped
  std::string found;  // observation as a clause, such as "process 17 on n1 is running as uid:1000"
  bool other_owner = false;  // true if refused because the owner differs or is unknown
};

struct StopEffect {
  bool stopped = false;
  std::string text;  // such as "the process exited" or "the process is still running"
};

// Thread-safe. `stop` is the decision. It contains the job's reference (target), the job's owner,
// and an ID that is identical for all calls about one decision.
class StopTarget {
 public:
  enum class Claim {
    kNo,         // another target handles jobs of this kind
    kMine,       // this target stops the job
    kElsewhere,  // another executor owns the job (a process on another node)
  };

  virtual ~StopTarget() = default;
  // Returns the name used in logs, such as "process" or "kubernetes".
  virtual std::string_view name() const = 0;
  virtual Claim Claims(const JobReference& reference) const = 0;
  virtual StopCheck Check(const ActionEvent& stop) = 0;
  // Stops the job. Returns the action as a clause, such as "SIGTERM sent". An error means that the
  // target did not act: NotFound, PermissionDenied (the platform refused; the message contains the
  // missing permission), FailedPrecondition, or Unavailable (after the target's retries).
  virtual StatusOr<std::string> Stop(const ActionEvent& stop) = 0;
  // Returns the effect of the stop. An error means that the effect is currently unknown.
  virtual StatusOr<StopEffect> Effect(const ActionEvent& stop) = 0;
  // Returns the interval between two checks of the effect.
  virtual int64_t look_interval_ns() const { return 200 * kNanosPerMilli; }
  // Cancels blocked calls. All later calls fail. May be called from another thread.
  virtual void Cancel() {}
};

// Targets of one executor, in the order they are tried. The targets are borrowed.
class StopTargets {
 public:
  // If `others_elsewhere` is true, jobs that no target claims belong to another executor and are
  // skipped. If it is false, such jobs are refused.
  StopTargets(std::vector<StopTarget*> targets, bool others_elsewhere)
      : targets_(std::move(targets)), others_elsewhere_(others_elsewhere) {}

  struct Choice {
    StopTarget* target = nullptr;  // null if this executor has no target for the job
    bool elsewhere = false;
  };
  Choice Choose(const JobReference& reference) const;
  // Returns the reason why this executor cannot stop the job. The reason lists the executor's
  // targets.
  std::string Refusal(const JobReference& reference) const;
  int64_t look_interval_ns() const;
  void Cancel() const;

 private:
  const std::vector<StopTarget*> targets_;
  const bool others_elsewhere_;
};

}  // namespace pitwall::executor
