// Captures as people read them: ranks with the same stacks together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/model/issues/capture.h"

namespace pitwall {

// Of one rank the newest, by job and rank.
std::vector<RankCapture> NewestOfRanks(const std::vector<RankCapture>& captures);
// Ranks that were wanted (empty: all that the answers speak of) and did not answer.
std::vector<int64_t> MissingRanks(const std::vector<RankCapture>& captures,
                                  const std::vector<int64_t>& wanted);
// "0, 2, 3"; runs as "4-7".
std::string RanksText(std::vector<int64_t> ranks);
// Several lines, without a line break at the end; nothing in it moves the cursor.
std::string CaptureText(const std::vector<RankCapture>& captures,
                        const std::vector<int64_t>& wanted);

}  // namespace pitwall
