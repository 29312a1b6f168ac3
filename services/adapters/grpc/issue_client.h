// Client for the IssueService, for `pitwall issues list|watch` and tests.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/io/capture_source.h"
#include "services/io/issue_source.h"

namespace pitwall::grpc_adapter {

struct IssueClientOptions {
  std::string target = "127.0.0.1:9871";
  std::string token;
  bool tls = false;
  std::string ca_file;           // for TLS; if empty, uses the system's certificates
  std::string certificate_file;  // client certificate; requires key_file
  std::string key_file;
  int64_t timeout_ns = 10'000'000'000;  // timeout for List and Get
};

// Thread-safe. Errors contain the code and message from the server.
class IssueClient {
 public:
  static StatusOr<std::unique_ptr<IssueClient>> Make(IssueClientOptions options);
  virtual ~IssueClient() = default;
  virtual StatusOr<IssuePage> List(const IssueQuery& query) = 0;
  virtual StatusOr<std::vector<IssueEventPtr>> Get(std::string_view id) = 0;
  // Returns the request ID. Returns PermissionDenied or Unauthenticated if the token does not grant
  // the act role.
  virtual StatusOr<std::string> AskCapture(const std::string& job,
                                           const std::vector<int64_t>& ranks,
                                           int64_t timeout_ns) = 0;
  // Returns the captures for either a request or an issue. The other argument must be "".
  virtual StatusOr<std::vector<RankCapture>> Captures(std::string_view request,
                                                      std::string_view issue) = 0;
  // Calls on_batch for each message, including bookmarks. Returns OK when on_batch returns false,
  // or the stream's status when the stream ends.
  virtual Status Watch(const WatchQuery& query,
                       const std::function<bool(const WatchBatch&)>& on_batch) = 0;
  // Ends all running calls with Cancelled. Can be called from any thread.
  virtual void Cancel() = 0;
};

}  // namespace pitwall::grpc_adapter
