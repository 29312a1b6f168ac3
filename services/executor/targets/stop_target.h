// Ways to stop a job, chosen by the job's reference: a process of this node, an object of
// Kubernetes, a call to somebody else's program.
//
// What an implementation must hold to:
//  * Check changes nothing. It refuses where the job is not the one that the reference names
//  (another
//    uid under the same name), is not of the owner that the issue names, or is over.
//  * Stop is called once for a decision that is on record, after a Check that refused nothing. It
//    checks uid and owner again, at the moment that it acts. A job that is stopped already is a
//    success. It never touches another job, and never waits without bound.
//  * Effect changes nothing, and says what the stop came to.
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
  std::string refusal;  // why the job may not be stopped; empty: it may
  std::string found;    // what was seen, as a clause: "process 17 on n1 is running as uid:1000"
  bool other_owner = false;  // refused because of the owner: it is another, or not known
};

struct StopEffect {
  bool stopped = false;
  std::string text;  // "the process exited", "the process still runs"
};

// Thread-safe. `stop` is the decision: its target is the job's reference, its owner the job's, its
// id the same whenever the same decision is asked about.
class StopTarget {
 public:
  enum class Claim {
    kNo,         // another target's kind of job
    kMine,       // this target stops it
    kElsewhere,  // its kind of job, but another executor's (a process of another node)
  };

  virtual ~StopTarget() = default;
  // "process", "kubernetes", …: for logs.
  virtual std::string_view name() const = 0;
  virtual Claim Claims(const JobReference& reference) const = 0;
  virtual StopCheck Check(const ActionEvent& stop) = 0;
  // What was done, as a clause: "SIGTERM sent". An error says why nothing was: NotFound,
  // PermissionDenied (refused there, with the right that is missing), FailedPrecondition,
  // Unavailable (after as many tries as the target makes).
  virtual StatusOr<std::string> Stop(const ActionEvent& stop) = 0;
  // An error: not known at the moment.
  virtual StatusOr<StopEffect> Effect(const ActionEvent& stop) = 0;
  // Between two looks at the effect.
  virtual int64_t look_interval_ns() const { return 200 * kNanosPerMilli; }
  // Ends what is waiting; nothing is done after it. From another thread.
  virtual void Cancel() {}
};

// The targets of one executor. They are borrowed, and asked in their order.
class StopTargets {
 public:
  // `others_elsewhere`: jobs that no target claims are another executor's, and are passed over;
  // else they are refused.
  StopTargets(std::vector<StopTarget*> targets, bool others_elsewhere)
      : targets_(std::move(targets)), others_elsewhere_(others_elsewhere) {}

  struct Choice {
    StopTarget* target = nullptr;  // null: nobody here stops it
    bool elsewhere = false;
  };
  Choice Choose(const JobReference& reference) const;
  // Why nobody here stops it; names the targets that there are.
  std::string Refusal(const JobReference& reference) const;
  int64_t look_interval_ns() const;
  void Cancel() const;

 private:
  const std::vector<StopTarget*> targets_;
  const bool others_elsewhere_;
};

}  // namespace pitwall::executor
