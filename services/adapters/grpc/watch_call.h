// One WatchIssues call: a reactor, and the thread that works for it. Private to this folder.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <thread>

#include "pitwall/issues/v1/issue_service.grpc.pb.h"
#include "services/adapters/grpc/issue_server.h"
#include "services/base/mutex.h"
#include "services/io/issue_source.h"

namespace pitwall::grpc_adapter {

// The thread alone starts writes and finishes the call; gRPC's callbacks only note and wake. So the
// reactor (which is deleted by OnDone, after Finish) is there whenever the thread uses it. Owned by
// the server.
class WatchCall {
 public:
  using Response = ::pitwall::issues::v1::WatchIssuesResponse;
  using WriteReactor = ::grpc::ServerWriteReactor<Response>;

  // Clock and source are borrowed; `context` is gRPC's and lives until the call is finished.
  WatchCall(Clock* clock, IssueSource* source, const IssueServerOptions& options, WatchQuery query,
            ::grpc::CallbackServerContext* context);
  ~WatchCall();

  // Starts the thread; gives the reactor, which is gRPC's from then on.
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
  Reactor* reactor_ = nullptr;  // the thread's, until it has called Finish
  Response response_;           // of the write under way
  std::thread thread_;
  std::atomic<bool> over_{false};
};

}  // namespace pitwall::grpc_adapter
