// Text of captures for people. Ranks with the same stacks are grouped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/model/issues/capture.h"

namespace pitwall {

// Returns the newest capture of each rank, sorted by job and rank.
std::vector<RankCapture> NewestOfRanks(const std::vector<RankCapture>& captures);
// Returns the ranks without a reply. `wanted` is empty for all ranks that the captures name.
std::vector<int64_t> MissingRanks(const std::vector<RankCapture>& captures,
                                  const std::vector<int64_t>& wanted);
// Returns "0, 2, 3", with consecutive ranks as "4-7".
std::string RanksText(std::vector<int64_t> ranks);
// Returns several lines without a trailing line break. Control characters are escaped.
std::string CaptureText(const std::vector<RankCapture>& captures,
                        const std::vector<int64_t>& wanted);

}  // namespace pitwall
