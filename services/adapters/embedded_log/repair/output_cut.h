// Removal of outputs whose commits are missing from a damaged journal. This is the first step of a
// repair.
#pragma once

#include <string>
#include <vector>

#include "services/adapters/embedded_log/recovery.h"
#include "services/base/status.h"
#include "services/io/derived_outputs.h"

namespace pitwall::log {

// Segment file that is rewritten up to the cut or removed.
struct CutSegment {
  std::string path;      // current path
  std::string replaced;  // path of the rewritten file; if "", the file is removed
  std::string content;   // content of the rewritten file
};

struct OutputCut {
  std::vector<CutSegment> segments;
  std::vector<std::string> done;  // messages for the operator
};

// Cuts outputs that were written after the group's newest position in the journal. Changes only
// `recovered`; the caller writes the files.
//
// Each batch in a segment records its commit, even after compaction, so the cut is exact. Batches
// from commits after the one that stored the position are cut because they will be produced again
// from the input. If the input does not reach back far enough, nothing is cut.
StatusOr<OutputCut> CutOutputs(const DerivedOutputs& derived,
                               const std::vector<DamageReport>& reports, Recovered* recovered);

}  // namespace pitwall::log
