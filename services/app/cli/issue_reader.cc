#include "services/app/cli/issue_reader.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "services/app/cli/topic_reading.h"
#include "services/base/log.h"
#include "services/base/system/files.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/capture_event.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/notification_event.h"
#include "services/io/topics.h"
#include "services/notifier/feed/issue_index.h"
#include "services/notifier/routing/silence.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;

class GrpcReader final : public IssueReader {
 public:
  explicit GrpcReader(std::unique_ptr<grpc_adapter::IssueClient> client)
      : client_(std::move(client)) {}

  StatusOr<std::vector<IssueEventPtr>> List(const IssueFilter& filter, bool all) override {
    IssueQuery query{.filter = filter, .include_ended = all, .page_size = 1000};
    std::vector<IssueEventPtr> issues;
    silenced_.clear();
    do {
      ASSIGN_OR_RETURN(const IssuePage page, client_->List(query));
      issues.insert(issues.end(), page.issues.begin(), page.issues.end());
      silenced_.insert(silenced_.end(), page.silenced.begin(), page.silenced.end());
      query.page_token = page.next_page_token;
    } while (!query.page_token.empty());
    return issues;
  }

  StatusOr<std::vector<IssueEventPtr>> Get(std::string_view id) override {
    return client_->Get(id);
  }

  Status ForEach(const IssueFilter& filter, const TakeEvent& take) override {
    bool first = true;
    return client_->Watch({.filter = filter, .from_start = true, .until_now = true},
                          [&](const WatchBatch& batch) {
                            for (const IssueEventPtr& event : batch.events) take(event);
                            // If the server does not support until_now, the bookmark after the last
                            // event ends the watch. The first bookmark is ignored because it may
                            // precede the events.
                            return !batch.events.empty() || std::exchange(first, false);
                          });
  }

  StatusOr<std::vector<ActionEvent>> Actions(const IssueEvent&) override {
    return absl::UnimplementedError("the gRPC server does not serve actions");
  }

  StatusOr<std::vector<NotificationRecord>> Notifications(std::string_view) override {
    return absl::UnimplementedError("the gRPC server does not serve notifications");
  }

  StatusOr<std::vector<RankCapture>> Captures(std::string_view request,
                                              std::string_view issue) override {
    return client_->Captures(request, issue);
  }

 private:
  const std::unique_ptr<grpc_adapter::IssueClient> client_;
};

class LogReader final : public IssueReader {
 public:
  LogReader(std::unique_ptr<Log> log, Clock* clock) : log_(std::move(log)), clock_(clock) {}

  StatusOr<std::vector<IssueEventPtr>> List(const IssueFilter& filter, bool all) override {
    RETURN_IF_ERROR(Load());
    bool more = false;
    std::vector<IssueEventPtr> issues = index_->List(filter, all, nullptr, SIZE_MAX, &more);
    silenced_.clear();
    for (const IssueEventPtr& issue : issues) {
      if (auto one = notifier::SilencedBy(silences_, *issue, clock_->WallNs()))
        silenced_.push_back(*std::move(one));
    }
    return issues;
  }

  StatusOr<std::vector<IssueEventPtr>> Get(std::string_view id) override {
    RETURN_IF_ERROR(Load());
    return index_->Find(id);
  }

  Status ForEach(const IssueFilter& filter, const TakeEvent& take) override {
    return ReadTopic(log_.get(), kIssuesTopic, [&](int32_t partition, const Record& record) {
      StatusOr<IssueEvent> event = cloudevents::DecodeCloudEvent(record.value);
      if (!event.ok()) {
        PITWALL_LOG(kWarning, "reader", kIssuesTopic, "/", partition, " offset ", record.offset,
                    ": ", ToStd(event.status().message()));
        return;
      }
      if (filter.Matches(*event)) take(std::make_shared<const IssueEvent>(*std::move(event)));
    });
  }

  StatusOr<std::vector<ActionEvent>> Actions(const IssueEvent& issue) override {
    std::vector<ActionEvent> actions;
    RETURN_IF_ERROR(ReadTopic(log_.get(), kActionsTopic, [&](int32_t, const Record& record) {
      StatusOr<ActionEvent> action = cloudevents::DecodeActionEvent(record.value);
      if (action.ok() && BelongsTo(*action, IssueId(issue), issue.job, issue.rule))
        actions.push_back(*std::move(action));
    }));
    return actions;
  }

  StatusOr<std::vector<NotificationRecord>> Notifications(std::string_view issue) override {
    std::vector<NotificationRecord> out;
    std::set<std::string> known;
    RETURN_IF_ERROR(ReadTopic(log_.get(), kNotificationsTopic, [&](int32_t, const Record& record) {
      StatusOr<NotificationRecord> notification = cloudevents::DecodeNotification(record.value);
      if (notification.ok() &&
          std::find(notification->issues.begin(), notification->issues.end(), issue) !=
              notification->issues.end() &&
          known.insert(notification->id).second)
        out.push_back(*std::move(notification));
    }));
    return out;
  }

  StatusOr<std::vector<RankCapture>> Captures(std::string_view request,
                                              std::string_view issue) override {
    std::vector<RankCapture> captures;
    RETURN_IF_ERROR(ReadTopic(log_.get(), kCapturesTopic, [&](int32_t, const Record& record) {
      StatusOr<RankCapture> capture = cloudevents::DecodeRankCapture(record.value);
      if (capture.ok() && (request.empty() || capture->request == request) &&
          (issue.empty() || capture->issue == issue))
        captures.push_back(*std::move(capture));
    }));
    return captures;
  }

 private:
  Status Load() {
    if (index_ != nullptr) return OkStatus();
    index_ = std::make_unique<notifier::IssueIndex>(
        notifier::IssueIndexLimits{.max_open = 200'000, .max_ended = 200'000});
    RETURN_IF_ERROR(ForEach({}, [this](const IssueEventPtr& event) { index_->Apply(event); }));
    return ReadTopic(log_.get(), notifier::kSilencesTopic, [this](int32_t, const Record& record) {
      StatusOr<notifier::Silence> silence = notifier::DecodeSilence(record.value);
      if (silence.ok()) silences_.Put(*std::move(silence));  // otherwise, the record is a tombstone
    });
  }

  const std::unique_ptr<Log> log_;
  Clock* const clock_;
  std::unique_ptr<notifier::IssueIndex> index_;
  notifier::SilenceSet silences_;
};

}  // namespace

std::vector<FlagSpec> TargetFlags() {
  return {
      {"target", Kind::kOne, "ADDR", "gRPC address of a running system", "127.0.0.1:9871"},
      {"token-file", Kind::kOne, "FILE",
       "file with the access token; required unless the address is loopback"},
      {"tls", Kind::kSwitch, "", "connect with TLS; --ca-file and --cert-file imply it"},
      {"ca-file", Kind::kOne, "FILE",
       "certificates to trust (default: the certificates of the system)"},
      {"cert-file", Kind::kOne, "FILE", "client certificate, if the server requires one"},
      {"key-file", Kind::kOne, "FILE", "key of the client certificate"},
  };
}

std::vector<FlagSpec> InputFlags() { return JoinOptions({TargetFlags(), LogInputFlags()}); }

StatusOr<std::unique_ptr<grpc_adapter::IssueClient>> OpenIssueClient(const Flags& flags) {
  grpc_adapter::IssueClientOptions options;
  options.target = flags.One("target").value_or(options.target);
  if (const auto path = flags.One("token-file")) {
    ASSIGN_OR_RETURN(const std::string token, ReadFile(*path, 4096));
    options.token = std::string(Trim(token));
  }
  options.ca_file = flags.One("ca-file").value_or("");
  options.certificate_file = flags.One("cert-file").value_or("");
  options.key_file = flags.One("key-file").value_or("");
  options.tls = flags.Has("tls") || flags.Has("ca-file") || flags.Has("cert-file");
  return grpc_adapter::IssueClient::Make(options);
}

StatusOr<std::unique_ptr<IssueReader>> IssueReader::Open(const Flags& flags, Clock* clock) {
  if (HasLogInput(flags)) {
    if (flags.Has("target"))
      return InvalidArgument(
          "--target: cannot be combined with --data-dir or --brokers; specify only one of them");
    ASSIGN_OR_RETURN(std::unique_ptr<Log> log, OpenLogInput(flags, clock));
    return std::make_unique<LogReader>(std::move(log), clock);
  }
  ASSIGN_OR_RETURN(std::unique_ptr<grpc_adapter::IssueClient> client, OpenIssueClient(flags));
  return std::make_unique<GrpcReader>(std::move(client));
}

}  // namespace pitwall
