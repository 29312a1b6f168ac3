#include "services/adapters/grpc/issue_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "services/adapters/grpc/connection_listener.h"
#include "services/adapters/grpc/credentials.h"
#include "services/adapters/grpc/issue_proto.h"
#include "services/adapters/grpc/watch_call.h"
#include "services/base/listen_address.h"
#include "services/base/log.h"
#include "services/base/mutex.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"

namespace pitwall::grpc_adapter {
namespace {

constexpr int kMaxRequestBytes = 256 * 1024;
constexpr int kMaxStreamsPerConnection = 128;
constexpr int kMaxMetadataBytes = 16 * 1024;
constexpr size_t kMemoryQuotaBytes = size_t{256} << 20;
constexpr int64_t kShutdownMs = 2'000;
constexpr int64_t kUsualAskNs = 10 * kNanosPerSecond;
constexpr int64_t kLongestAskNs = 60 * kNanosPerSecond;
constexpr size_t kMaxCaptureResponse = size_t{32} << 20;

using ::grpc::CallbackServerContext;

// Converts "ipv4:192.0.2.1:4242" to "ipv4:192.0.2.1".
std::string AddressOf(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

class IssueServiceImpl final : public issues_v1::IssueService::CallbackService {
 public:
  IssueServiceImpl(Clock* clock, IssueSource* source, const IssueServerOptions& options)
      : clock_(clock), source_(source), options_(options) {}

  ::grpc::ServerUnaryReactor* ListIssues(CallbackServerContext* context,
                                         const issues_v1::ListIssuesRequest* request,
                                         issues_v1::ListIssuesResponse* response) override {
    return Answer(context, [&]() -> Status {
      IssueQuery query;
      query.filter = FromProto(request->filter());
      query.include_ended = request->include_ended();
      query.page_size = request->page_size();
      query.page_token = request->page_token();
      ASSIGN_OR_RETURN(const IssuePage page, source_->ListIssues(query));
      for (const IssueEventPtr& issue : page.issues) ToProto(*issue, response->add_issues());
      response->set_next_page_token(page.next_page_token);
      response->set_resume_token(page.resume_token);
      for (const SilencedIssue& one : page.silenced) ToProto(one, response->add_silenced());
      return OkStatus();
    });
  }

  ::grpc::ServerUnaryReactor* GetIssue(CallbackServerContext* context,
                                       const issues_v1::GetIssueRequest* request,
                                       issues_v1::GetIssueResponse* response) override {
    return Answer(context, [&]() -> Status {
      ASSIGN_OR_RETURN(const std::vector<IssueEventPtr> events, source_->GetIssue(request->id()));
      for (const IssueEventPtr& event : events) ToProto(*event, response->add_events());
      return OkStatus();
    });
  }

  ::grpc::ServerUnaryReactor* AskCapture(CallbackServerContext* context,
                                         const issues_v1::AskCaptureRequest* request,
                                         issues_v1::AskCaptureResponse* response) override {
    return Answer(
        context,
        [&]() -> Status {
          if (options_.captures == nullptr)
            return absl::UnimplementedError("captures are disabled on this server");
          if (request->job().empty() || request->job().size() > 1024)
            return InvalidArgument(
                Cat("job: must be 1 to 1024 bytes long (got ", request->job().size(), ")"));
          if (request->ranks_size() > static_cast<int>(kMaxCaptureRanks))
            return InvalidArgument(Cat("ranks: at most ", kMaxCaptureRanks,
                                       " ranks are allowed (got ", request->ranks_size(), ")"));
          if (request->timeout_ns() < 0 || request->timeout_ns() > kLongestAskNs)
            return InvalidArgument("timeout: must be between 0 and 60 s");
          CaptureRequest ask;
          ask.job = request->job();
          ask.ranks.assign(request->ranks().begin(), request->ranks().end());
          ask.principal = "act";
          ask.expires = EventTime::FromNs(
              clock_->WallNs() + (request->timeout_ns() > 0 ? request->timeout_ns() : kUsualAskNs));
          ASSIGN_OR_RETURN(*response->mutable_request(),
                           options_.captures->RequestCapture(std::move(ask)));
          return OkStatus();
        },
        Role::kAct);
  }

  ::grpc::ServerUnaryReactor* ListCaptures(CallbackServerContext* context,
                                           const issues_v1::ListCapturesRequest* request,
                                           issues_v1::ListCapturesResponse* response) override {
    return Answer(context, [&]() -> Status {
      if (options_.captures == nullptr)
        return absl::UnimplementedError("captures are disabled on this server");
      if (request->request().empty() && request->issue().empty())
        return InvalidArgument("request or issue must be set");
      ASSIGN_OR_RETURN(const std::vector<RankCapture> found,
                       options_.captures->Find(
                           {.request = request->request(), .issue = request->issue(), .job = ""}));
      size_t bytes = 0, first = found.size();
      std::vector<std::string> texts(found.size());
      while (first > 0) {  // newest events within the limit
        texts[first - 1] = cloudevents::EncodeRankCapture(found[first - 1]);
        bytes += texts[first - 1].size();
        if (bytes > kMaxCaptureResponse) break;
        --first;
      }
      for (; first < texts.size(); ++first) response->add_captures(std::move(texts[first]));
      return OkStatus();
    });
  }

  ::grpc::ServerWriteReactor<issues_v1::WatchIssuesResponse>* WatchIssues(
      CallbackServerContext* context, const issues_v1::WatchIssuesRequest* request) override {
    if (const ::grpc::Status allowed = CheckRole(*context, options_.tokens, Role::kView);
        !allowed.ok()) {
      return new Refusal(allowed);
    }
    WatchQuery query;
    query.filter = FromProto(request->filter());
    query.resume_token = request->resume_token();
    query.from_start = request->from_start();
    query.until_now = request->until_now();
    MutexLock lock(&mutex_);
    if (stopping_) return new Refusal({::grpc::StatusCode::UNAVAILABLE, "the server is stopping"});
    // Finished threads only need to be joined.
    watches_.remove_if([](const Watch& watch) { return watch.call->over(); });
    if (watches_.size() >= options_.max_watches) {
      return new Refusal({::grpc::StatusCode::RESOURCE_EXHAUSTED,
                          Cat("the limit of ", options_.max_watches, " watchers is reached")});
    }
    std::string address = AddressOf(context->peer());
    const auto of_address = static_cast<size_t>(
        std::count_if(watches_.begin(), watches_.end(),
                      [&](const Watch& watch) { return watch.address == address; }));
    if (of_address >= options_.max_watches_per_address) {
      return new Refusal({::grpc::StatusCode::RESOURCE_EXHAUSTED,
                          Cat(address, " already has the maximum of ", of_address, " watchers")});
    }
    watches_.push_back(
        {std::move(address),
         std::make_unique<WatchCall>(clock_, source_, options_, std::move(query), context)});
    return watches_.back().call->Begin();
  }

  void Stop() {
    std::list<Watch> watches;
    {
      MutexLock lock(&mutex_);
      stopping_ = true;
      watches.swap(watches_);
    }
    watches.clear();
  }

 private:
  struct Watch {
    std::string address;  // client address without the port
    std::unique_ptr<WatchCall> call;
  };

  class Refusal final : public WatchCall::WriteReactor {
   public:
    explicit Refusal(const ::grpc::Status& status) { Finish(status); }
    void OnDone() override { delete this; }
  };

  // List and Get read memory under a briefly held lock, so they can run on gRPC's threads.
  template <typename F>
  ::grpc::ServerUnaryReactor* Answer(CallbackServerContext* context, F f, Role role = Role::kView) {
    ::grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    ::grpc::Status status = CheckRole(*context, options_.tokens, role);
    if (status.ok()) status = ToGrpc(f());
    reactor->Finish(status);
    return reactor;
  }

  Clock* const clock_;
  IssueSource* const source_;
  const IssueServerOptions options_;
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::list<Watch> watches_ ABSL_GUARDED_BY(mutex_);
};

class GrpcIssueServer final : public IssueServer {
 public:
  GrpcIssueServer(Clock* clock, IssueSource* source, const IssueServerOptions& options)
      : clock_(clock),
        stop_limit_ns_(options.stop_limit_ns),
        served_(std::make_unique<Served>(clock, source, options)) {}
  ~GrpcIssueServer() override { Stop(); }

  Status Listen(const IssueServerOptions& options) {
    ASSIGN_OR_RETURN(const auto credentials, MakeServerCredentials(options.tls));
    static std::once_flag health, reflection;
    std::call_once(health, [] { ::grpc::EnableDefaultHealthCheckService(true); });
    if (options.reflection) {
      std::call_once(reflection,
                     [] { ::grpc::reflection::InitProtoReflectionServerBuilderPlugin(); });
    }
    ::grpc::ServerBuilder builder;
    ASSIGN_OR_RETURN(listener_, ConnectionListener::Open(options.listen));
    auto acceptor = builder.experimental().AddExternalConnectionAcceptor(
        ::grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
    builder.RegisterService(&served_->service);
    builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 2);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                               static_cast<int>(options.idle_timeout_ns / kNanosPerMilli));
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                               static_cast<int>(options.handshake_timeout_ns / kNanosPerMilli));
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
    ::grpc::ResourceQuota quota("pitwall-issues");
    quota.Resize(kMemoryQuotaBytes);
    builder.SetResourceQuota(quota);
    served_->server = builder.BuildAndStart();
    if (served_->server == nullptr)
      return Unavailable(Cat("cannot serve gRPC on ", options.listen));
    SetServing(false);
    listener_->Start(std::move(acceptor));
    return OkStatus();
  }

  int port() const override { return listener_->port(); }

  void SetServing(bool serving) override {
    if (served_ == nullptr) return;  // after Stop
    ::grpc::HealthCheckServiceInterface* const health = served_->server->GetHealthCheckService();
    if (health == nullptr) return;
    health->SetServingStatus(serving);
    health->SetServingStatus(issues_v1::IssueService::service_full_name(), serving);
  }

  void Stop() override {
    if (served_ == nullptr || served_->server == nullptr) return;
    SetServing(false);
    listener_->Stop();
    served_->service.Stop();
    const std::shared_ptr<Wakeup> ended = clock_->NewWakeup();
    std::thread stopping([served = std::move(served_), ended]() mutable {
      // gRPC reads its own clock, so a duration is passed instead of a deadline.
      served->server->Shutdown(gpr_time_from_millis(kShutdownMs, GPR_TIMESPAN));
      served->server->Wait();
      served.reset();
      ended->Wake();
    });
    if (ended->Wait(stop_limit_ns_)) {
      stopping.join();
      return;
    }
    PITWALL_LOG(
        kWarning, "grpc", "gRPC did not stop within ", stop_limit_ns_ / kNanosPerSecond,
        " s (its threads may be asleep because the clock was set back); the shutdown continues ",
        "without it");
    stopping.detach();
  }

 private:
  // State used by gRPC's threads. It stays alive if Stop gives up waiting for them.
  struct Served {
    Served(Clock* clock, IssueSource* source, const IssueServerOptions& options)
        : service(clock, source, options) {}
    IssueServiceImpl service;
    std::unique_ptr<::grpc::Server> server;
  };

  Clock* const clock_;
  const int64_t stop_limit_ns_;
  std::unique_ptr<ConnectionListener> listener_;
  std::unique_ptr<Served> served_;
};

}  // namespace

StatusOr<std::unique_ptr<IssueServer>> IssueServer::Start(Clock* clock, IssueSource* source,
                                                          IssueServerOptions options) {
  ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(options.listen));
  if (!address.loopback && options.tokens.empty()) {
    return InvalidArgument(Cat("serving gRPC on ", options.listen, " requires a token"));
  }
  if (options.max_events_per_message == 0 || options.bookmark_interval_ns <= 0 ||
      options.stall_limit_ns <= 0 || options.idle_timeout_ns <= 0 ||
      options.handshake_timeout_ns <= 0 || options.stop_limit_ns <= 0 ||
      options.max_watches_per_address == 0) {
    return InvalidArgument("gRPC limits must be positive");
  }
  auto server = std::make_unique<GrpcIssueServer>(clock, source, options);
  RETURN_IF_ERROR(server->Listen(options));
  return server;
}

}  // namespace pitwall::grpc_adapter
