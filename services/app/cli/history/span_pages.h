// Paging through the spans of a job.
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
  std::string from;  // in the format of the API; "": start of the job
  std::string to;
  int64_t from_step = -1;  // [from_step, to_step) of the mode; -1: all
  int64_t to_step = -1;
  std::string mode = "train";
  std::vector<int64_t> ranks;  // empty: all
};

struct SpanOf {
  std::string source;
  std::string node;
  int64_t rank = -1;
  Span span;
};

// Passes each span to a function. Returns ResourceExhausted beyond `most` spans, and DataLoss for a
// malformed response.
Status ForEachSpan(const Client& client, const SliceOf& slice, uint64_t most,
                   const std::function<void(const SpanOf&)>& take);

}  // namespace pitwall::history_client
