// The commands of the binary. Each returns its exit code: 0 fine, 1 the thing checked failed, 2
// usage or unreadable input.
#pragma once

#include <string>
#include <vector>

namespace pitwall {

inline constexpr int kFine = 0;
inline constexpr int kCheckFailed = 1;
inline constexpr int kUsage = 2;

// standalone, collector, processor, notifier, executor, insights.
int RunService(const std::string& service, const std::vector<std::string>& arguments);
int RunRules(const std::vector<std::string>& arguments);       // rules check|list|test|golden
int RunBacktest(const std::vector<std::string>& arguments);    // backtest
int RunBaseline(const std::vector<std::string>& arguments);    // baseline
int RunActions(const std::vector<std::string>& arguments);     // actions list
int RunCapture(const std::vector<std::string>& arguments);     // capture JOB
int RunLoadgen(const std::vector<std::string>& arguments);     // loadgen
int RunLog(const std::vector<std::string>& arguments);         // log check|repair
int RunIssues(const std::vector<std::string>& arguments);      // issues list|show|watch
int RunJobs(const std::vector<std::string>& arguments);        // jobs list|show|archive|delete
int RunSilence(const std::vector<std::string>& arguments);     // silence add|list|expire
int RunQuery(const std::vector<std::string>& arguments);       // query PROMQL
int RunExport(const std::vector<std::string>& arguments);      // export JOB
int RunRuleStatus(const std::vector<std::string>& arguments);  // rules status

}  // namespace pitwall
