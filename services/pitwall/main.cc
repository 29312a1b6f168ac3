#include <string>
#include <system_error>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/base/log.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/pitwall/commands.h"

namespace {

constexpr char kHelp[] = R"(pitwall watches machine-learning training jobs in real time.

Services (each takes --config FILE; flags override it; --print-config shows what is in effect):
  standalone   everything in one process, on an embedded log
  collector    one per node: metrics of the node and of its training processes
  processor    evaluates the rules
  notifier     gRPC IssueService, and receivers of issues: webhooks, Alertmanager, Slack, e-mail, SMS
  executor     stops jobs, where told to
  insights     keeps the history of all jobs

Tools:
  rules check|list|test|golden FILE…
                                check rule files, list rules, run unit tests and golden scripts
  backtest                      the same engine over recorded data: its own log, or OpenMetrics
  baseline                      the summary of a finished job, against which later ones are judged
  log check|repair DIR          damage in a data directory, and the way out
  rules status --job JOB        what each rule says of a job now, and what it waits for
  issues list|show|watch        the issues of a running system, or out of its log
  jobs list|show                jobs, their attempts and ends, the verdicts of their rules
  jobs report JOB               a job's report: one HTML file, or JSON
  jobs archive|delete JOB       a finished job's history: into a folder, or out of everything
  query PROMQL                  the history of all jobs, as a table or a plot
  export JOB                    its spans as a Perfetto trace, its samples as CSV
  capture JOB                   stacks and operators of its ranks now
  silence add|list|expire       what receivers are not told of, for a while
  actions list                  what the executor decided and did
  loadgen                       telemetry of made-up jobs with planted faults, for tests and benchmarks

`pitwall COMMAND --help` says more.
)";

int Dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "help") {
    arguments.empty() ? pitwall::PrintError(kHelp) : pitwall::Print(kHelp);
    return arguments.empty() ? pitwall::kUsage : pitwall::kFine;
  }
  const std::string& command = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (command == "--version") {
    pitwall::Print("pitwall " PITWALL_VERSION "\n");
    return pitwall::kFine;
  }
  for (const char* service :
       {"standalone", "collector", "processor", "notifier", "executor", "insights"}) {
    if (command == service) return pitwall::RunService(command, rest);
  }
  if (command == "rules" && !rest.empty() && rest[0] == "status")
    return pitwall::RunRuleStatus({rest.begin() + 1, rest.end()});
  if (command == "jobs") return pitwall::RunJobs(rest);
  if (command == "rules") return pitwall::RunRules(rest);
  if (command == "backtest") return pitwall::RunBacktest(rest);
  if (command == "baseline") return pitwall::RunBaseline(rest);
  if (command == "actions") return pitwall::RunActions(rest);
  if (command == "capture") return pitwall::RunCapture(rest);
  if (command == "query") return pitwall::RunQuery(rest);
  if (command == "silence") return pitwall::RunSilence(rest);
  if (command == "export") return pitwall::RunExport(rest);
  if (command == "loadgen") return pitwall::RunLoadgen(rest);
  if (command == "log") return pitwall::RunLog(rest);
  if (command == "issues") return pitwall::RunIssues(rest);
  pitwall::PrintError(pitwall::Cat("pitwall: unknown command ", command, "\n\n", kHelp));
  return pitwall::kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  static const pitwall::clock::SystemClock system_clock;
  pitwall::SetLogClock(&system_clock);
  try {
    return Dispatch(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::system_error& error) {
    // The standard library throws it where a thread cannot be started; what ran is stopped by now.
    pitwall::PrintError(pitwall::Cat(
        "pitwall: the system refused a thread (", error.what(),
        "); raise the limit of processes (ulimit -u, pids.max) or of memory (ulimit -v)\n"));
    return pitwall::kUsage;
  }
}
