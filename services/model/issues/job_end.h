// End of a job as text, and who stopped it.
#pragma once

#include <string>
#include <string_view>

#include "services/model/issues/issue.h"
#include "services/model/telemetry.h"

namespace pitwall {

// Label of the executor's notice kStopping and of the kEnded that follows it: "rule <name>", or who
// asked for the stop.
inline constexpr std::string_view kStoppedBy = "stopped_by";
// "": the event does not say it.
std::string StoppedByOf(const JobEvent& event);

// Reason of the executor's notice after kStopping: the job goes on, since nobody would stop it.
inline constexpr std::string_view kStopRefused = "stop_refused";

// How a job or an attempt ended: "died", "cancelled (time limit)", "stopped by rule
// pack/group/Alert"; `summary`: of the event that says it. "": nothing is known.
std::string JobEndText(EndDetail detail, std::string_view summary);

}  // namespace pitwall
