// End of a job as text, including the user or rule that stopped it.
#pragma once

#include <string>
#include <string_view>

#include "services/model/issues/issue.h"
#include "services/model/telemetry.h"

namespace pitwall {

// Label on the executor's kStopping notice and the following kEnded event: "rule <name>", or the
// user who requested the stop.
inline constexpr std::string_view kStoppedBy = "stopped_by";
// Returns the value of the label, or "" if the event does not have it.
std::string StoppedByOf(const JobEvent& event);

// Reason in the executor's notice after kStopping if the stop was refused and the job continues.
inline constexpr std::string_view kStopRefused = "stop_refused";

// Returns the end of a job or attempt as text: "died", "cancelled (time limit)", "stopped by rule
// pack/group/Alert", or "" if it is unknown. `summary`: the summary of the end event.
std::string JobEndText(EndDetail detail, std::string_view summary);

}  // namespace pitwall
