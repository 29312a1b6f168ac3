// All spans of a slice of a job, page by page.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/model/telemetry.h"
#include "services/pitwall/history/history_client.h"

namespace pitwall::history_client {

struct SliceOf {
  std::string job;
  std::string from;  // as the API takes times; "": the job's begin
  std::string to;
  int64_t from_step = -1;  // [from_step, to_step) of the mode; -1: any
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

// ResourceExhausted beyond `most` spans. DataLoss: an answer is malformed.
Status ForEachSpan(const Client& client, const SliceOf& slice, uint64_t most,
                   const std::function<void(const SpanOf&)>& take);

}  // namespace pitwall::history_client
