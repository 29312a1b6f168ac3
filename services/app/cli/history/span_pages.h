// Iteration over a job's spans, page by page.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/app/cli/history/history_client.h"
#include "services/base/status.h"
#include "services/model/telemetry.h"

namespace pitwall::history_client {

struct SliceOf {
  std::string job;
  std::string from;  // in the API's format; if "", from the start of the job
  std::string to;
  int64_t from_step = -1;  // only steps in [from_step, to_step) of the mode; -1 means all
  int64_t to_step = -1;
  std::string mode = "train";
  std::vector<int64_t> ranks;  // if empty, all ranks
};

struct SpanOf {
  std::string source;
  std::string node;
  int64_t rank = -1;
  Span span;
};

// Passes each span to `take`. Returns ResourceExhausted for more than `most` spans, and DataLoss
// for a malformed response.
Status ForEachSpan(const Client& client, const SliceOf& slice, uint64_t most,
                   const std::function<void(const SpanOf&)>& take);

}  // namespace pitwall::history_client
