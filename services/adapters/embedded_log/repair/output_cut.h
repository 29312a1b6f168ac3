// Committed outputs that a damaged journal no longer proves: the first step of a repair.
#pragma once

#include <string>
#include <vector>

#include "services/adapters/embedded_log/recovery.h"
#include "services/base/status.h"
#include "services/io/derived_outputs.h"

namespace pitwall::log {

// A file of a partition that is written again up to the cut, or goes as a whole.
struct CutSegment {
  std::string path;      // as it is now
  std::string replaced;  // the path of what is kept; "": nothing is
  std::string content;   // of what is kept
};

struct OutputCut {
  std::vector<CutSegment> segments;
  std::vector<std::string> done;  // lines for the operator
};

// Cuts what was written behind the newest position of the group that the journal still shows, in
// `recovered` only. The caller writes the files.
//
// Segments keep the commit of each batch, also through compaction. So the cut is exact: a batch of
// a later commit than the position's is made again from the input. Where the input does not reach
// back far enough nothing is cut.
StatusOr<OutputCut> CutOutputs(const DerivedOutputs& derived,
                               const std::vector<DamageReport>& reports, Recovered* recovered);

}  // namespace pitwall::log
