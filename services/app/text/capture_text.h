// Human-readable text for captures, with ranks grouped by identical stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/model/issues/capture.h"

namespace pitwall {

// Returns the newest capture of each rank, sorted by job and rank.
std::vector<RankCapture> NewestOfRanks(const std::vector<RankCapture>& captures);
// Returns the ranks in `wanted` that have not replied. If `wanted` is empty, checks all ranks that
// appear in the captures.
std::vector<int64_t> MissingRanks(const std::vector<RankCapture>& captures,
                                  const std::vector<int64_t>& wanted);
// Formats ranks as "0, 2, 3". Three or more consecutive ranks are printed as "4-7".
std::string RanksText(std::vector<int64_t> ranks);
// Formats the captures as multiple lines, without a trailing line break. Control characters are
// escaped.
std::string CaptureText(const std::vector<RankCapture>& captures,
                        const std::vector<int64_t>& wanted);

}  // namespace pitwall
