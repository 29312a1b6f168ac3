// Labels of series, and validation of step, phase, and metric names.
#pragma once

#include <string_view>

#include "services/model/labels.h"

namespace pitwall::steps {

// Returns true if the name is not empty, is within the codec's length limit, and has no control
// characters.
bool IsName(std::string_view text);
// Returns true for metrics that only StepSeries may write.
bool IsReserved(std::string_view metric);
// Returns the labels of a rank's series.
Labels RankSeries(std::string_view metric, std::string_view rank);

}  // namespace pitwall::steps
