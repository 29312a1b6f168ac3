#include "services/adapters/grpc/issue_client.h"

#include <grpcpp/grpcpp.h>

#include <set>
#include <utility>

#include "pitwall/issues/v1/issue_service.grpc.pb.h"
#include "services/adapters/grpc/credentials.h"
#include "services/adapters/grpc/issue_proto.h"
#include "services/base/mutex.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"

namespace pitwall::grpc_adapter {
namespace {

constexpr int kMaxResponseBytes = 64 << 20;

class GrpcIssueClient final : public IssueClient {
 public:
  GrpcIssueClient(IssueClientOptions options, const std::shared_ptr<::grpc::Channel>& channel)
      : options_(std::move(options)), stub_(issues_v1::IssueService::NewStub(channel)) {}

  StatusOr<IssuePage> List(const IssueQuery& query) override {
    issues_v1::ListIssuesRequest request;
    ToProto(query.filter, request.mutable_filter());
    request.set_include_ended(query.include_ended);
    request.set_page_size(query.page_size);
    request.set_page_token(query.page_token);
    issues_v1::ListIssuesResponse response;
    Call call(this, true);
    RETURN_IF_ERROR(FromGrpc(stub_->ListIssues(&call.context, request, &response)));
    IssuePage page{
        Events(response.issues()), response.next_page_token(), response.resume_token(), {}};
    for (const issues_v1::SilencedIssue& one : response.silenced())
      page.silenced.push_back(FromProto(one));
    return page;
  }

  StatusOr<std::vector<IssueEventPtr>> Get(std::string_view id) override {
    issues_v1::GetIssueRequest request;
    request.set_id(std::string(id));
    issues_v1::GetIssueResponse response;
    Call call(this, true);
    RETURN_IF_ERROR(FromGrpc(stub_->GetIssue(&call.context, request, &response)));
    return Events(response.events());
  }

  StatusOr<std::string> AskCapture(const std::string& job, const std::vector<int64_t>& ranks,
                                   int64_t timeout_ns) override {
    issues_v1::AskCaptureRequest request;
    request.set_job(job);
    for (const int64_t rank : ranks) request.add_ranks(static_cast<uint32_t>(rank));
    request.set_timeout_ns(timeout_ns);
    issues_v1::AskCaptureResponse response;
    Call call(this, true);
    RETURN_IF_ERROR(FromGrpc(stub_->AskCapture(&call.context, request, &response)));
    return response.request();
  }

  StatusOr<std::vector<RankCapture>> Captures(std::string_view id,
                                              std::string_view issue) override {
    issues_v1::ListCapturesRequest request;
    request.set_request(std::string(id));
    request.set_issue(std::string(issue));
    issues_v1::ListCapturesResponse response;
    Call call(this, true);
    RETURN_IF_ERROR(FromGrpc(stub_->ListCaptures(&call.context, request, &response)));
    std::vector<RankCapture> captures;
    for (const std::string& json : response.captures()) {
      ASSIGN_OR_RETURN(RankCapture capture, cloudevents::DecodeRankCapture(json));
      captures.push_back(std::move(capture));
    }
    return captures;
  }

  Status Watch(const WatchQuery& query,
               const std::function<bool(const WatchBatch&)>& on_batch) override {
    issues_v1::WatchIssuesRequest request;
    ToProto(query.filter, request.mutable_filter());
    request.set_resume_token(query.resume_token);
    request.set_from_start(query.from_start);
    request.set_until_now(query.until_now);
    Call call(this, false);
    const auto reader = stub_->WatchIssues(&call.context, request);
    issues_v1::WatchIssuesResponse response;
    bool enough = false;
    while (reader->Read(&response)) {
      enough = !on_batch({Events(response.events()), response.resume_token()});
      if (enough) break;
    }
    if (enough) call.context.TryCancel();
    const ::grpc::Status status = reader->Finish();
    return enough ? OkStatus() : FromGrpc(status);
  }

  void Cancel() override {
    MutexLock lock(&mutex_);
    cancelled_ = true;
    for (::grpc::ClientContext* context : running_) context->TryCancel();
  }

 private:
  // Registers a context so that Cancel can cancel it.
  struct Call {
    Call(GrpcIssueClient* c, bool with_deadline) : client(c) {
      if (with_deadline)
        context.set_deadline(gpr_time_from_nanos(c->options_.timeout_ns, GPR_TIMESPAN));
      if (!c->options_.token.empty())
        context.AddMetadata("authorization", Cat("Bearer ", c->options_.token));
      MutexLock lock(&c->mutex_);
      if (c->cancelled_) context.TryCancel();
      c->running_.insert(&context);
    }
    ~Call() {
      MutexLock lock(&client->mutex_);
      client->running_.erase(&context);
    }
    GrpcIssueClient* const client;
    ::grpc::ClientContext context;
  };

  template <typename Repeated>
  static std::vector<IssueEventPtr> Events(const Repeated& events) {
    std::vector<IssueEventPtr> out;
    out.reserve(static_cast<size_t>(events.size()));
    for (const issues_v1::IssueEvent& event : events) {
      out.push_back(std::make_shared<const IssueEvent>(FromProto(event)));
    }
    return out;
  }

  const IssueClientOptions options_;
  const std::unique_ptr<issues_v1::IssueService::Stub> stub_;
  Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<::grpc::ClientContext*> running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

StatusOr<std::unique_ptr<IssueClient>> IssueClient::Make(IssueClientOptions options) {
  if (options.target.empty())
    return InvalidArgument("target must be set to the address of an issue service");
  ASSIGN_OR_RETURN(const auto credentials, MakeChannelCredentials(options));
  ::grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetMaxReceiveMessageSize(kMaxResponseBytes);
  const auto channel = ::grpc::CreateCustomChannel(options.target, credentials, arguments);
  return std::make_unique<GrpcIssueClient>(std::move(options), channel);
}

}  // namespace pitwall::grpc_adapter
