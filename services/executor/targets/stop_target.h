// Ways to stop a job, chosen by the job's reference: a process of this node, an object of
// Kubernetes, a call to a program of the administrator.
//
// Requirements for an implementation:
//  * Check has no effect. It refuses if the job is not the one in the reference (another uid under
//    the same name), does not belong to the owner, or has ended.
//  * Stop is called once for a recorded decision, after a successful Check. It checks uid and owner
//    again when it acts. A job that has already stopped is a success. It never affects another job,
//    and never waits without limit.
//  * Effect has no effect on the job; it returns the result of the stop.
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
  std::string refusal;       // reason why the job may not be stopped; "": it may
  std::string found;         // observation, as a clause: "process 17 on n1 is running as uid:1000"
  bool other_owner = false;  // refused because the owner is another one or unknown
};

struct StopEffect {
  bool stopped = false;
  std::string text;  // "the process exited", "the process still runs"
};

// Thread-safe. `stop` is the decision: its target is the job's reference, its owner the job's, and
// its ID the same for each call about one decision.
class StopTarget {
 public:
  enum class Claim {
    kNo,         // another target's kind of job
    kMine,       // this target stops it
    kElsewhere,  // its kind of job, but another executor's (a process of another node)
  };

  virtual ~StopTarget() = default;
  // "process", "kubernetes", … for logs.
  virtual std::string_view name() const = 0;
  virtual Claim Claims(const JobReference& reference) const = 0;
  virtual StopCheck Check(const ActionEvent& stop) = 0;
  // Returns the action as a clause: "SIGTERM sent". An error means that no action was taken:
  // NotFound, PermissionDenied (refused by the platform, with the missing right),
  // FailedPrecondition, Unavailable (after the target's retries).
  virtual StatusOr<std::string> Stop(const ActionEvent& stop) = 0;
  // An error means that the effect is currently unknown.
  virtual StatusOr<StopEffect> Effect(const ActionEvent& stop) = 0;
  // Interval between two checks of the effect.
  virtual int64_t look_interval_ns() const { return 200 * kNanosPerMilli; }
  // Cancels waiting calls; later calls fail. Called by another thread.
  virtual void Cancel() {}
};

// Targets of one executor. They are borrowed, and tried in order.
class StopTargets {
 public:
  // `others_elsewhere`: true: jobs that no target claims belong to another executor and are
  // skipped; false: they are refused.
  StopTargets(std::vector<StopTarget*> targets, bool others_elsewhere)
      : targets_(std::move(targets)), others_elsewhere_(others_elsewhere) {}

  struct Choice {
    StopTarget* target = nullptr;  // null: no target here
    bool elsewhere = false;
  };
  Choice Choose(const JobReference& reference) const;
  // Returns why no target here stops the job, with the list of targets.
  std::string Refusal(const JobReference& reference) const;
  int64_t look_interval_ns() const;
  void Cancel() const;

 private:
  const std::vector<StopTarget*> targets_;
  const bool others_elsewhere_;
};

}  // namespace pitwall::executor
