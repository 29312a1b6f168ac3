// Access of the commands to the history: flags, token, transport.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/io/http_transport.h"
#include "services/pitwall/flags.h"
#include "services/pitwall/history/history_client.h"

namespace pitwall {

// --url and what belongs to it; without --token-file and --ca-file, which InputFlags() has too.
std::vector<FlagSpec> HistoryUrlFlags();
// All of them.
std::vector<FlagSpec> HistoryFlags();

// Opens the history that the flags name and calls `run`; what an answer has in a form that is not
// the API's is an error, too.
Status WithHistory(const Flags& flags,
                   const std::function<Status(const history_client::Client&)>& run);

// RFC 3339, Unix seconds, "now", or a duration before it ("-15m"). InvalidArgument names the flag.
StatusOr<int64_t> ReadMoment(std::string_view flag, std::string_view text, int64_t now_ns);

// `pitwall jobs list|show|archive|delete` of the history.
Status ListHistoryJobs(const Flags& flags);
Status ShowHistoryJob(const std::string& job, const Flags& flags);
// Into --output (report-JOB.html); --json without --output goes to stdout.
Status ReportHistoryJob(const std::string& job, const Flags& flags);
Status ArchiveHistoryJob(const std::string& job, const Flags& flags);
Status DeleteHistoryJob(const std::string& job, const Flags& flags);

// `pitwall jobs parameters JOB`: what its rules' parameters are, and where each value comes from.
Status ListHistoryParameters(const std::string& job, const Flags& flags);
// `pitwall jobs parameter JOB RULE NAME VALUE`: asks for another value, and waits for the answer.
Status SetHistoryParameter(const std::vector<std::string>& words, const Flags& flags);

}  // namespace pitwall
