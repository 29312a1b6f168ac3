// Interface for capture requests and replies. services/notifier implements it on top of
// pitwall.control and pitwall.captures; services/adapters/grpc exposes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/model/issues/capture.h"

namespace pitwall {

// Filter for captures. An empty field matches everything.
struct CaptureQuery {
  std::string request;
  std::string issue;
  std::string job;  // ID or name

  bool Matches(const RankCapture& capture) const {
    return (request.empty() || request == capture.request) &&
           (issue.empty() || issue == capture.issue) &&
           (job.empty() || job == capture.job || job == capture.job_name);
  }
};

// Thread-safe.
class CaptureSource {
 public:
  virtual ~CaptureSource() = default;
  // Sends a request to all collectors without checking that the job exists. Generates an ID if the
  // request does not have one, and returns the ID immediately. Returns ResourceExhausted if too
  // many requests are pending.
  virtual StatusOr<std::string> RequestCapture(CaptureRequest request) = 0;
  // Returns the stored replies in log order, or Unavailable if the log cannot be read.
  virtual StatusOr<std::vector<RankCapture>> Find(const CaptureQuery& query) = 0;
};

}  // namespace pitwall
