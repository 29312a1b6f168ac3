// Test fixture: an issue server on the loopback interface and its clients.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/grpc/issue_client.h"
#include "services/adapters/grpc/issue_server.h"
#include "services/base/text/strings.h"

namespace pitwall::grpc_adapter {

// `Source` is an IssueSource with a default constructor.
template <typename Source>
class IssueServerFixture : public ::testing::Test {
 protected:
  // Starts the server, after stopping the previous one.
  void Run(IssueServerOptions options = {}) {
    server_.reset();
    StatusOr<std::unique_ptr<IssueServer>> server =
        IssueServer::Start(&clock_, &source_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::unique_ptr<IssueClient> Client(std::string token = "") {
    IssueClientOptions options;
    options.target = Cat("127.0.0.1:", server_->port());
    options.token = std::move(token);
    return *IssueClient::Make(options);
  }

  clock::SystemClock clock_;
  Source source_;
  std::unique_ptr<IssueServer> server_;
};

}  // namespace pitwall::grpc_adapter
