// Test transport that records its calls and returns prepared replies.
#pragma once

#include <string_view>
#include <vector>

#include "services/base/status.h"
#include "services/io/http_transport.h"

namespace pitwall::history_client {

class ScriptedTransport final : public HttpTransport {
 public:
  StatusOr<HttpReply> Perform(const HttpCall& call) override {
    calls.push_back(call);
    if (calls.size() > replies.size()) return absl::UnavailableError("connection refused");
    return replies[calls.size() - 1];
  }
  Status CheckUrl(std::string_view) const override { return OkStatus(); }

  std::vector<HttpReply> replies;
  std::vector<HttpCall> calls;
};

}  // namespace pitwall::history_client
