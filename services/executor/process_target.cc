#include "services/executor/process_target.h"

#include <utility>

#include "services/base/log.h"
#include "services/base/strings.h"

namespace pitwall::executor {
namespace {

// The process that the job names, with the owner that it must have.
StatusOr<ProcessIdentity> ProcessOf(const ActionEvent& stop) {
  ASSIGN_OR_RETURN(ProcessIdentity process, ParseProcessUid(stop.target.uid));
  process.owner = stop.owner;
  return process;
}

StopCheck Refuse(std::string why, bool other_owner = false) {
  return {.refusal = std::move(why), .other_owner = other_owner};
}

}  // namespace

StopTarget::Claim ProcessTarget::Claims(const JobReference& reference) const {
  if (reference.platform != "process") return Claim::kNo;
  const StatusOr<ProcessIdentity> process = ParseProcessUid(reference.uid);
  return process.ok() && process->node != node_ ? Claim::kElsewhere : Claim::kMine;
}

StopCheck ProcessTarget::Check(const ActionEvent& stop) {
  const StatusOr<ProcessIdentity> process = ProcessOf(stop);
  if (!process.ok()) return Refuse(std::string(ToStd(process.status().message())));
  if (stop.owner.empty()) {
    return Refuse(
        "the owner of the job is not known: nothing is stopped for it (collectors of this version "
        "say it; docs/security.md)",
        true);
  }
  const StatusOr<ProcessState> state = processes_->Look(*process);
  if (!state.ok()) return Refuse(std::string(ToStd(state.status().message())));
  switch (*state) {
    case ProcessState::kOtherOwner:
      return Refuse(Cat("process ", process->pid, " does not belong to ", stop.owner,
                        ", the owner of the job"),
                    true);
    case ProcessState::kGone:
      return Refuse(Cat("process ", process->pid, " is gone"));
    case ProcessState::kReplaced:
      return Refuse(Cat("pid ", process->pid, " is another process by now"));
    case ProcessState::kRunning:
      break;
  }
  return {.found = Cat("process ", process->pid, " on ", process->node, " is running as ",
                       stop.owner, ", the owner of the job")};
}

StatusOr<std::string> ProcessTarget::Stop(const ActionEvent& stop) {
  ASSIGN_OR_RETURN(const ProcessIdentity process, ProcessOf(stop));
  RETURN_IF_ERROR(processes_->Terminate(process));
  PITWALL_LOG(kWarning, "executor", "SIGTERM to process ", process.pid, " of job ", stop.job, ": ",
              stop.rule);
  return std::string("SIGTERM sent");
}

StatusOr<StopEffect> ProcessTarget::Effect(const ActionEvent& stop) {
  ASSIGN_OR_RETURN(ProcessIdentity process, ProcessOf(stop));
  process.owner.clear();  // whose it is was checked before; it may change as it exits
  ASSIGN_OR_RETURN(const ProcessState state, processes_->Look(process));
  if (state == ProcessState::kRunning) return StopEffect{.text = "the process still runs"};
  return StopEffect{.stopped = true, .text = "the process exited"};
}

}  // namespace pitwall::executor
