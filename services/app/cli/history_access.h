// History access for commands: options, tokens, and transport.
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

// Returns the options --url and --insecure, for commands that already include TargetFlags().
std::vector<FlagSpec> HistoryUrlFlags();
// Returns all options that WithHistory reads.
std::vector<FlagSpec> HistoryFlags();

// Connects to the history specified by the options and calls `run`. A response that does not match
// the API is also an error.
Status WithHistory(const Flags& flags,
                   const std::function<Status(const history_client::Client&)>& run);

// Parses an RFC 3339 time, Unix seconds, "now", or a duration before now ("-15m"). Errors contain
// the option's name.
StatusOr<int64_t> ReadMoment(std::string_view flag, std::string_view text, int64_t now_ns);

// Implement `pitwall jobs list|show|report|archive|delete` using the history.
Status ListHistoryJobs(const Flags& flags);
Status ShowHistoryJob(const std::string& job, const Flags& flags);
// Writes the report to the --output file, or to report-JOB.html by default. With --json but without
// --output, the report goes to stdout.
Status ReportHistoryJob(const std::string& job, const Flags& flags);
Status ArchiveHistoryJob(const std::string& job, const Flags& flags);
Status DeleteHistoryJob(const std::string& job, const Flags& flags);

// Implements `pitwall jobs parameters JOB`, which prints each parameter with its value and the
// source of the value.
Status ListHistoryParameters(const std::string& job, const Flags& flags);
// Implements `pitwall jobs parameter JOB RULE NAME VALUE`, which requests a new value and waits for
// the reply.
Status SetHistoryParameter(const std::vector<std::string>& arguments, const Flags& flags);

}  // namespace pitwall
