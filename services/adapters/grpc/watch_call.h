// One WatchIssues call: a reactor and its worker thread. Private to this folder.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>

#include "pitwall/issues/v1/issue_service.grpc.pb.h"
#include "services/adapters/grpc/issue_server.h"
#include "services/base/mutex.h"
#include "services/io/issue_source.h"

namespace pitwall::grpc_adapter {

// Only the worker thread starts writes and finishes the call. gRPC's callbacks only set flags and
// wake that thread. Therefore, the reactor (deleted by OnDone, after Finish) exists whenever the
// thread uses it. Owned by the server.
class WatchCall {
 public:
  using Response = ::pitwall::issues::v1::WatchIssuesResponse;
  using WriteReactor = ::grpc::ServerWriteReactor<Response>;

  // Borrows the clock and the source; gRPC owns `context`, which lives until the call is finished.
  WatchCall(Clock* clock, IssueSource* source, const IssueServerOptions& options, WatchQuery query,
            ::grpc::CallbackServerContext* context);
  ~WatchCall();

  // Starts the thread. Returns the reactor, which gRPC then owns.
  WriteReactor* Begin();
  bool over() const { return over_; }
  // Ends the call with UNAVAILABLE and waits for the thread.
  void Stop();

 private:
  struct Shared;
  class Reactor;

  void Run();
  ::grpc::Status Serve();
  ::grpc::Status Write(const WatchBatch& batch);

  Clock* const clock_;
  IssueSource* const source_;
  const IssueServerOptions options_;
  const WatchQuery query_;
  ::grpc::CallbackServerContext* const context_;
  const std::shared_ptr<Shared> shared_;
  Reactor* reactor_ = nullptr;  // owned by the thread until it calls Finish
  Response response_;           // message that is being written
  std::atomic<bool> over_{false};
};

}  // namespace pitwall::grpc_adapter
