// Access of the commands to the history: options, token, and transport.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "services/app/cli/history/history_client.h"
#include "services/app/command/flags.h"
#include "services/base/status.h"
#include "services/io/http_transport.h"

namespace pitwall {

// Returns --url and --insecure. Commands that also have TargetFlags() get the other options from
// them.
std::vector<FlagSpec> HistoryUrlFlags();
// Returns all options of WithHistory.
std::vector<FlagSpec> HistoryFlags();

// Opens the history that the options name and calls `run`. A response that does not match the API
// is an error, too.
Status WithHistory(const Flags& flags,
                   const std::function<Status(const history_client::Client&)>& run);

// Parses RFC 3339, Unix seconds, "now", or a duration before now ("-15m"). Errors name the option.
StatusOr<int64_t> ReadMoment(std::string_view flag, std::string_view text, int64_t now_ns);

// Implement `pitwall jobs list|show|report|archive|delete` over the history.
Status ListHistoryJobs(const Flags& flags);
Status ShowHistoryJob(const std::string& job, const Flags& flags);
// Writes to --output or report-JOB.html. With --json and without --output it writes to stdout.
Status ReportHistoryJob(const std::string& job, const Flags& flags);
Status ArchiveHistoryJob(const std::string& job, const Flags& flags);
Status DeleteHistoryJob(const std::string& job, const Flags& flags);

// Implements `pitwall jobs parameters JOB`: prints each parameter with the source of its value.
Status ListHistoryParameters(const std::string& job, const Flags& flags);
// Implements `pitwall jobs parameter JOB RULE NAME VALUE`: requests a value and waits for the
// reply.
Status SetHistoryParameter(const std::vector<std::string>& arguments, const Flags& flags);

}  // namespace pitwall
