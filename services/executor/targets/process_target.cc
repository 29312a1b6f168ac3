#include "services/executor/targets/process_target.h"

#include <utility>
#include <vector>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::executor {
namespace {

// Returns the job's processes together with their required owner.
StatusOr<std::vector<ProcessIdentity>> ProcessesOf(const ActionEvent& stop) {
  ASSIGN_OR_RETURN(std::vector<ProcessIdentity> processes, ParseProcessUids(stop.target.uid));
  for (ProcessIdentity& process : processes) process.owner = stop.owner;
  return processes;
}

StopCheck Refuse(std::string why, bool other_owner = false) {
  return {.refusal = std::move(why), .other_owner = other_owner};
}

std::string Pids(const std::vector<int64_t>& pids) {
  std::string out;
  for (const int64_t pid : pids) out += Cat(out.empty() ? "" : ", ", pid);
  return out;
}

}  // namespace

StopTarget::Claim ProcessTarget::Claims(const JobReference& reference) const {
  if (reference.platform != "process") return Claim::kNo;
  const auto processes = ParseProcessUids(reference.uid);
  return processes.ok() && processes->front().node != node_ ? Claim::kElsewhere : Claim::kMine;
}

StopCheck ProcessTarget::Check(const ActionEvent& stop) {
  const auto processes = ProcessesOf(stop);
  if (!processes.ok()) return Refuse(std::string(ToStd(processes.status().message())));
  if (stop.owner.empty()) {
    return Refuse(
        "the job's owner is unknown, so the job is not stopped; update the collector, which "
        "reports "
        "the owner (docs/security.md)",
        true);
  }
  std::vector<int64_t> running;
  std::string ended;  // description of the first process that is not running
  for (const ProcessIdentity& process : *processes) {
    const StatusOr<ProcessState> state = processes_->Look(process);
    if (!state.ok()) return Refuse(std::string(ToStd(state.status().message())));
    switch (*state) {
      case ProcessState::kOtherOwner:
        return Refuse(Cat("process ", process.pid, " does not belong to ", stop.owner,
                          ", the owner of the job"),
                      true);
      case ProcessState::kGone:
        if (ended.empty()) ended = Cat("process ", process.pid, " is gone");
        break;
      case ProcessState::kReplaced:
        if (ended.empty()) ended = Cat("pid ", process.pid, " now belongs to another process");
        break;
      case ProcessState::kRunning:
        running.push_back(process.pid);
    }
  }
  if (running.empty()) return Refuse(std::move(ended));
  const bool one = running.size() == 1;
  return {.found =
              Cat(one ? "process " : "processes ", Pids(running), " on ", processes->front().node,
                  one ? " is" : " are", " running as ", stop.owner, ", the owner of the job")};
}

StatusOr<std::string> ProcessTarget::Stop(const ActionEvent& stop) {
  ASSIGN_OR_RETURN(const std::vector<ProcessIdentity> processes, ProcessesOf(stop));
  std::vector<int64_t> signaled;
  Status first_error, first_ended;
  for (const ProcessIdentity& process : processes) {
    const Status status = processes_->Terminate(process);
    Status* kept = absl::IsNotFound(status) ? &first_ended : &first_error;
    if (status.ok()) {
      signaled.push_back(process.pid);
    } else if (kept->ok()) {
      *kept = status;
    }
  }
  if (signaled.empty()) return first_error.ok() ? first_ended : first_error;
  PITWALL_LOG(kWarning, "executor", "sent SIGTERM to ",
              signaled.size() == 1 ? "process " : "processes ", Pids(signaled), " of job ",
              stop.job, ": ", stop.rule);
  std::string sent = processes.size() == 1 ? std::string("SIGTERM sent")
                                           : Cat("SIGTERM sent to ", signaled.size(), " of ",
                                                 processes.size(), " processes");
  if (!first_error.ok()) sent += Cat(" (", ToStd(first_error.message()), ")");
  return sent;
}

StatusOr<StopEffect> ProcessTarget::Effect(const ActionEvent& stop) {
  ASSIGN_OR_RETURN(std::vector<ProcessIdentity> processes, ProcessesOf(stop));
  std::vector<int64_t> running;
  for (ProcessIdentity& process : processes) {
    process.owner.clear();  // checked before the stop; may change while the process exits
    ASSIGN_OR_RETURN(const ProcessState state, processes_->Look(process));
    if (state == ProcessState::kRunning) running.push_back(process.pid);
  }
  const bool one = processes.size() == 1;
  if (!running.empty()) {
    return StopEffect{
        .text = one ? std::string("the process is still running")
                    : Cat(running.size(), " of ", processes.size(), " processes (", Pids(running),
                          running.size() == 1 ? ") is still running" : ") are still running")};
  }
  return StopEffect{
      .stopped = true,
      .text = one ? "the process exited" : Cat("all ", processes.size(), " processes exited")};
}

}  // namespace pitwall::executor
