#include "services/executor/targets/slurm_target.h"

#include <algorithm>
#include <array>

#include "services/base/log.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"

namespace pitwall::executor {
namespace {

constexpr std::string_view kUserOwner = "uid:";
constexpr size_t kMaxDigits = 10;  // job numbers have 32 bits

// Returns the job number, which is used as a command argument.
StatusOr<std::string> NumberOf(const JobReference& reference) {
  const std::string& uid = reference.uid;
  const bool digits =
      !uid.empty() && uid.size() <= kMaxDigits && uid[0] != '0' &&
      std::all_of(uid.begin(), uid.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits)
    return InvalidArgument(Cat("reference: must be a Slurm job number (got ", Quote(uid), ")"));
  return uid;
}

// Returns the value of a field in the output of `scontrol --oneliner show job`. User-defined names
// and paths may imitate a field, so a field that occurs twice is rejected.
StatusOr<std::string_view> Field(std::string_view text, std::string_view name) {
  std::string_view found;
  int times = 0;
  for (std::string_view word : Split(text, ' ')) {
    if (!StartsWith(word, name) || word.size() <= name.size() || word[name.size()] != '=') continue;
    if (times++ == 0) found = Trim(word.substr(name.size() + 1));
  }
  if (times == 0) return Internal(Cat("scontrol does not show ", name));
  if (times > 1) return FailedPrecondition(Cat("scontrol shows ", name, " more than once"));
  return found;
}

std::string FirstLine(std::string_view text) {
  text = Trim(text);
  return TerminalLine(text.substr(0, std::min<size_t>(text.find('\n'), 300)));
}

// Returns the first line of the error output without the program's name, which messages already
// contain.
std::string ErrorOf(const CommandResult& result) {
  std::string_view text = Trim(result.errors);
  for (const std::string_view prefix : {"scancel: ", "scontrol: ", "error: "}) {
    if (StartsWith(text, prefix)) text.remove_prefix(prefix.size());
  }
  return FirstLine(text);
}

bool Mentions(const CommandResult& result, std::string_view what) {
  return result.errors.find(what) != std::string::npos ||
         result.out.find(what) != std::string::npos;
}

// Returns true for job states in which no processes remain.
bool IsOver(std::string_view state) {
  constexpr std::array kOver = {"CANCELLED", "COMPLETED", "FAILED",        "TIMEOUT",
                                "PREEMPTED", "DEADLINE",  "OUT_OF_MEMORY", "NODE_FAIL",
                                "BOOT_FAIL", "REVOKED",   "SPECIAL_EXIT"};
  return std::any_of(kOver.begin(), kOver.end(),
                     [&](const char* over) { return StartsWith(state, over); });
}

std::string Named(const JobReference& reference) {
  return Cat("Slurm job ", reference.uid,
             reference.cluster.empty() ? "" : Cat(" of cluster ", TerminalLine(reference.cluster)));
}

StopCheck Refuse(std::string why, bool other_owner = false) {
  return {.refusal = std::move(why), .found = {}, .other_owner = other_owner};
}

}  // namespace

StopTarget::Claim SlurmTarget::Claims(const JobReference& reference) const {
  if (reference.platform != "slurm") return Claim::kNo;
  const bool ours = options_.cluster.empty() || reference.cluster.empty() ||
                    reference.cluster == options_.cluster;
  return ours ? Claim::kMine : Claim::kElsewhere;
}

StatusOr<SlurmTarget::Job> SlurmTarget::Look(const JobReference& reference) {
  ASSIGN_OR_RETURN(const std::string number, NumberOf(reference));
  ASSIGN_OR_RETURN(
      const CommandResult result,
      runner_->Run({options_.scontrol, "--oneliner", "show", "job", number}, options_.timeout_ns));
  if (result.exit_code != 0) {
    if (Mentions(result, "Invalid job id")) return NotFound(Cat(Named(reference), " not found"));
    return Unavailable(Cat("scontrol show job ", number, " exited with ", result.exit_code, ": ",
                           ErrorOf(result)));
  }
  ASSIGN_OR_RETURN(const std::string_view id, Field(result.out, "JobId"));
  if (id != number)
    return FailedPrecondition(
        Cat("scontrol returned job ", TerminalLine(id), " instead of ", number));
  Job job;
  ASSIGN_OR_RETURN(const std::string_view state, Field(result.out, "JobState"));
  job.state = std::string(state);
  // The value has the form alice(1000).
  ASSIGN_OR_RETURN(const std::string_view user, Field(result.out, "UserId"));
  const size_t open = user.rfind('(');
  const auto uid = open == std::string_view::npos || !EndsWith(user, ")")
                       ? std::nullopt
                       : ParseInt(user.substr(open + 1, user.size() - open - 2));
  if (!uid.has_value() || *uid < 0)
    return Internal(Cat("scontrol returned an invalid user: ", TerminalLine(user)));
  job.user = *uid;
  return job;
}

StopCheck SlurmTarget::Check(const ActionEvent& stop) {
  if (!StartsWith(stop.owner, kUserOwner)) {
    return Refuse(Cat("the owner of the job is ",
                      stop.owner.empty() ? std::string("unknown") : TerminalLine(stop.owner),
                      "; a Slurm job is stopped only for its user (docs/security.md)"),
                  true);
  }
  const StatusOr<Job> job = Look(stop.target);
  if (!job.ok()) return Refuse(std::string(ToStd(job.status().message())));
  if (Cat(kUserOwner, job->user) != stop.owner) {
    return Refuse(Cat(Named(stop.target), " belongs to uid:", job->user, ", not to ",
                      TerminalLine(stop.owner), ", the owner of the job"),
                  true);
  }
  if (IsOver(job->state) || job->state == "COMPLETING")
    return Refuse(Cat(Named(stop.target), " has finished: ", TerminalLine(job->state)));
  return {.refusal = {},
          .found = Cat(Named(stop.target), " is ", TerminalLine(job->state), " as ",
                       TerminalLine(stop.owner), ", the owner of the job")};
}

StatusOr<std::string> SlurmTarget::Stop(const ActionEvent& stop) {
  const StopCheck check = Check(stop);
  if (!check.refusal.empty()) {
    return check.other_owner ? Status(absl::PermissionDeniedError(ToAbsl(check.refusal)))
                             : NotFound(check.refusal);
  }
  ASSIGN_OR_RETURN(const std::string number, NumberOf(stop.target));
  ASSIGN_OR_RETURN(
      const CommandResult result,
      runner_->Run({options_.scancel, Cat("--user=", stop.owner.substr(kUserOwner.size())), number},
                   options_.timeout_ns));
  // scancel may exit with 0 even after an error.
  if (Mentions(result, "denied")) {
    return absl::PermissionDeniedError(
        ToAbsl(Cat("scancel: ", ErrorOf(result),
                   "; run the executor as SlurmUser, root, or a Slurm operator")));
  }
  if (Mentions(result, "already completing or completed"))
    return std::string("scancel sent; the job had already finished");
  if (Mentions(result, "Invalid job id")) return NotFound(Cat(Named(stop.target), " not found"));
  if (result.exit_code != 0 || Mentions(result, "error")) {
    return Unavailable(Cat("scancel exited with ", result.exit_code, ": ", ErrorOf(result)));
  }
  PITWALL_LOG(kWarning, "executor", "ran scancel ", number, ": job ", stop.job, ": ", stop.rule);
  return std::string("scancel sent");
}

StatusOr<StopEffect> SlurmTarget::Effect(const ActionEvent& stop) {
  const StatusOr<Job> job = Look(stop.target);
  if (job.status().code() == absl::StatusCode::kNotFound)
    return StopEffect{.stopped = true, .text = "slurmctld no longer knows the job"};
  if (!job.ok()) return job.status();
  return StopEffect{.stopped = IsOver(job->state),
                    .text = Cat("the job is ", TerminalLine(job->state))};
}

}  // namespace pitwall::executor
