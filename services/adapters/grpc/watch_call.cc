#include "services/adapters/grpc/watch_call.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "services/adapters/grpc/credentials.h"
#include "services/adapters/grpc/issue_proto.h"
#include "services/base/system/worker.h"
#include "services/base/time.h"

namespace pitwall::grpc_adapter {

// Maximum time that a stopping server waits for a message that is being sent.
constexpr int64_t kStopGraceNs = kNanosPerSecond;

// State shared by the callbacks and the thread. Outlives both.
struct WatchCall::Shared {
  explicit Shared(Clock* clock) : worker(clock, "grpc-watch") {
    worker.OnStop([this] { Interrupt(); });
  }

  std::atomic<bool> cancelled{false};  // canceled by the client
  Mutex mutex;
  bool write_done ABSL_GUARDED_BY(mutex) = false;
  bool write_ok ABSL_GUARDED_BY(mutex) = false;
  IssueWatch* watch ABSL_GUARDED_BY(mutex) = nullptr;
  // Thread of the call, which ends before the WatchCall does. It stops when the server cancels the
  // call.
  Worker worker;

  void Interrupt() {
    MutexLock lock(&mutex);
    if (watch != nullptr) watch->Cancel();
    worker.Wake();
  }
  // From this point on, Interrupt also reaches the watch.
  void SetWatch(IssueWatch* w) {
    MutexLock lock(&mutex);
    watch = w;
    if (w != nullptr && (cancelled || worker.stopping())) w->Cancel();
  }
};

class WatchCall::Reactor final : public WriteReactor {
 public:
  explicit Reactor(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  void OnWriteDone(bool ok) override {
    MutexLock lock(&shared_->mutex);
    shared_->write_done = true;
    shared_->write_ok = ok;
    shared_->worker.Wake();
  }
  void OnCancel() override {
    shared_->cancelled = true;
    shared_->Interrupt();
  }
  void OnDone() override { delete this; }

 private:
  const std::shared_ptr<Shared> shared_;
};

WatchCall::WatchCall(Clock* clock, IssueSource* source, const IssueServerOptions& options,
                     WatchQuery query, ::grpc::CallbackServerContext* context)
    : clock_(clock),
      source_(source),
      options_(options),
      query_(std::move(query)),
      context_(context),
      shared_(std::make_shared<Shared>(clock)) {}

WatchCall::~WatchCall() { Stop(); }

WatchCall::WriteReactor* WatchCall::Begin() {
  auto* const reactor = new Reactor(shared_);
  reactor_ = reactor;
  try {
    shared_->worker.Start([this] { Run(); });
  } catch (const std::system_error&) {
    // Thread creation failed, so this watch is rejected, but the process continues.
    reactor->Finish({::grpc::StatusCode::RESOURCE_EXHAUSTED,
                     "the server cannot start a thread for this watch; try again later"});
    over_ = true;
  }
  return reactor;
}

void WatchCall::Stop() { shared_->worker.Stop(); }

void WatchCall::Run() {
  const ::grpc::Status verdict = Serve();
  // The reactor and the context must not be used after this call.
  reactor_->Finish(verdict);
  over_ = true;
}

::grpc::Status WatchCall::Serve() {
  StatusOr<std::unique_ptr<IssueWatch>> watch = source_->WatchIssues(query_);
  if (!watch.ok()) return ToGrpc(watch.status());
  shared_->SetWatch(watch->get());
  ::grpc::Status verdict;
  // The first message is sent immediately so that the client knows that it is connected and where
  // the stream starts.
  for (int64_t wait_ns = 0; verdict.ok(); wait_ns = options_.bookmark_interval_ns) {
    const StatusOr<WatchBatch> batch =
        (*watch)->Next(options_.max_events_per_message, Duration::Nanos(wait_ns));
    if (shared_->worker.stopping()) {
      verdict = {::grpc::StatusCode::UNAVAILABLE, "the server is stopping"};
    } else if (shared_->cancelled) {
      verdict = {::grpc::StatusCode::CANCELLED, "canceled by the client"};
    } else {
      verdict = batch.ok() ? Write(*batch) : ToGrpc(batch.status());
      if (verdict.ok() && batch->last) break;
    }
  }
  shared_->SetWatch(nullptr);
  return verdict;
}

::grpc::Status WatchCall::Write(const WatchBatch& batch) {
  response_.Clear();
  for (const IssueEventPtr& event : batch.events) ToProto(*event, response_.add_events());
  response_.set_resume_token(batch.resume_token);
  {
    MutexLock lock(&shared_->mutex);
    shared_->write_done = false;
  }
  // set_buffer_hint is not used, because it stalls the stream in the callback API of gRPC 1.51.
  reactor_->StartWrite(&response_);
  const int64_t began = clock_->MonotonicNs();
  ::grpc::Status verdict;
  int64_t limit = began + options_.stall_limit_ns;
  bool killed = false;
  while (true) {
    {
      MutexLock lock(&shared_->mutex);
      if (shared_->write_done) {
        if (!verdict.ok() || shared_->write_ok) return verdict;
        return {::grpc::StatusCode::CANCELLED, "the stream was closed"};
      }
    }
    const int64_t now = clock_->MonotonicNs();
    if (shared_->worker.stopping() && verdict.ok()) {
      verdict = {::grpc::StatusCode::UNAVAILABLE, "the server is stopping"};
      limit = std::min(limit, now + kStopGraceNs);
    }
    if (!killed && now >= limit) {
      if (verdict.ok()) {
        // A client that resumes reading before the next time limit still receives the reason for
        // the disconnect.
        verdict = {::grpc::StatusCode::RESOURCE_EXHAUSTED,
                   "the client does not read messages; it may resume with its last token"};
        limit = now + options_.stall_limit_ns;
      } else {
        killed = true;
        context_->TryCancel();
      }
    }
    // Every write completes, at the latest when the stream is canceled. Worker::Wait would not wait
    // after a stop request.
    shared_->worker.wakeup()->Wait(killed ? -1 : std::max<int64_t>(0, limit - now));
  }
}

}  // namespace pitwall::grpc_adapter
