#include "services/app/host/roles/insights_role.h"

#include <functional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "services/adapters/http/client/curl_transport.h"
#include "services/app/config/secret_ref.h"
#include "services/base/listen_address.h"
#include "services/base/log.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/history/peers/fleet_routes.h"
#include "services/io/topics.h"

namespace pitwall {
namespace {

// Returns the scheme, host, and port of a URL, such as "https://host:port" for
// "https://host:port/path".
std::string OriginOf(const std::string& url) {
  return url.substr(0, url.find('/', url.find("://") + 3));
}

// Validates the share and the peers.
Status CheckPeers(const Config& config, const processor::PartitionShare& share) {
  const auto given = config.insights.peers.size();
  if (share.count > 1 && config.log.kind != "kafka") {
    return InvalidArgument(
        "share: requires log.kind=kafka; remove insights.share or set log.kind to kafka");
  }
  if (share.count > 1 && given != static_cast<size_t>(share.count)) {
    return InvalidArgument(Cat("peers: must have one URL per share (got ", given, " for ",
                               share.count,
                               " shares); list the URLs in index order, including this process's"));
  }
  if (share.count == 1 && given > 1) {
    return InvalidArgument(
        Cat("peers: must be empty without a share (got ", given, " URLs); set insights.share"));
  }
  if (share.count > 1 && (config.http.token_file.empty() || config.http.act_token_file.empty())) {
    ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(config.http.listen));
    if (!address.loopback) {
      return InvalidArgument(
          "share: peers authenticate to each other with tokens; set the same http.token_file and "
          "http.act_token_file for all of them");
    }
  }
  return OkStatus();
}

// Returns a value for the authorization header, such as "Basic dXNlcjpwYXNzd29yZA==" or "Bearer
// token", or "".
StatusOr<std::string> AuthorizationOf(const RemoteWriteConfig& config) {
  if (!config.token_file.empty()) {
    ASSIGN_OR_RETURN(const std::string token, ReadToken(config.token_file));
    return Cat("Bearer ", token);
  }
  if (config.user.empty()) return std::string();
  ASSIGN_OR_RETURN(const std::string password, ReadToken(config.password_file));
  return Cat("Basic ", absl::Base64Escape(Cat(config.user, ":", password)));
}

StatusOr<std::vector<Matcher>> PatternsOf(const std::vector<std::string>& texts) {
  std::vector<Matcher> out;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(Matcher matcher, Matcher::Make("", MatchOp::kRegex, text));
    out.push_back(std::move(matcher));
  }
  return out;
}

}  // namespace

Status InsightsRole::StartRemoteWrite(const RemoteWriteConfig& config,
                                      const processor::PartitionShare& share) {
  if (config.url.empty()) return OkStatus();
  // Connections to any address are allowed because an administrator configured the receiver.
  ASSIGN_OR_RETURN(remote_transport_,
                   http::MakeCurlTransport({.allow_insecure = true,
                                            .allowed_cidrs = {"0.0.0.0/0", "::/0"},
                                            .ca_file = config.ca_file}));
  RETURN_IF_ERROR(Annotate(remote_transport_->CheckUrl(config.url), "url"));
  RETURN_IF_ERROR(AuthorizationOf(config).status());
  history::MirrorOptions options;
  options.topic = kTelemetryTopic;
  // The group depends on the URL, so a new receiver starts at the oldest data within max_behind.
  options.group = Cat("pitwall-remote-write-", StableHashHex(config.url).substr(0, 8));
  ASSIGN_OR_RETURN(options.filter.metrics, PatternsOf(config.metrics));
  ASSIGN_OR_RETURN(options.filter.labels, PatternsOf(config.labels));
  options.receiver.url = config.url;
  options.receiver.authorization = [config] { return AuthorizationOf(config); };
  options.receiver.timeout_ns = config.timeout_ns;
  options.receiver.request_samples = static_cast<size_t>(config.request_samples);
  options.max_behind_ns = config.max_behind_ns;
  ASSIGN_OR_RETURN(const int32_t partitions, log_->Partitions(kTelemetryTopic));
  remote_write_ = std::make_unique<history::RemoteWrite>(clock_, log_, remote_transport_.get(),
                                                         options, exposition_);
  remote_write_->Start(processor::PartitionsOf(share, partitions));
  PITWALL_LOG(kInfo, "insights", "mirroring series to ", ShownUrl(config.url));
  return OkStatus();
}

Status InsightsRole::Start(const Config& config) {
  history::HistoryOptions options;
  options.dir = config.InsightsDir();
  options.max_bytes = config.insights.max_bytes;
  options.retention_ns = config.insights.retention_ns;
  options.memory_bytes = static_cast<size_t>(config.insights.memory);
  processor::PartitionShare share;
  if (!config.insights.share.empty()) {
    ASSIGN_OR_RETURN(share, ParseShare(config.insights.share));
  }
  RETURN_IF_ERROR(Annotate(CheckPeers(config, share), "insights"));
  options.share_index = share.index;
  options.share_count = share.count;
  RETURN_IF_ERROR(
      Annotate(StartRemoteWrite(config.insights.remote_write, share), "insights.remote_write"));
  auto opened = history::HistoryService::Open(clock_, log_, options, exposition_);
  insights_fault_ = Annotate(opened.status(), "insights");
  if (opened.ok()) {
    insights_ = *std::move(opened);
    insights_fault_ = Annotate(insights_->Start(), "insights");
    if (!insights_fault_.ok()) insights_ = nullptr;
  }
  if (insights_ != nullptr) {
    followed_silences_ = std::make_unique<FollowedSilences>(clock_, log_);
    if (rules_in_force_ == nullptr) followed_rules_ = std::make_unique<FollowedRules>(clock_, log_);
    return OkStatus();
  }
  // If the process runs other services, a failure of insights does not stop them.
  if (alone_) return insights_fault_;
  PITWALL_LOG(kError, "insights", "history is not stored: ", ToStd(insights_fault_.message()));
  return OkStatus();
}

Status InsightsRole::StartFleet(const Config& config, const AccessTokens& tokens) {
  ASSIGN_OR_RETURN(const processor::PartitionShare share, ParseShare(config.insights.share));
  ASSIGN_OR_RETURN(peer_transport_,
                   http::MakeCurlTransport({.allow_insecure = true,
                                            .allowed_cidrs = {"0.0.0.0/0", "::/0"},
                                            .ca_file = config.insights.peer_ca_file}));
  history::FleetOptions options;
  options.index = share.index;
  options.peers = config.insights.peers;
  for (const std::string& peer : options.peers)
    RETURN_IF_ERROR(Annotate(peer_transport_->CheckUrl(peer), "insights.peers"));
  options.peer.timeout_ns = config.insights.peer_timeout_ns;
  options.peer.tokens = tokens;
  ASSIGN_OR_RETURN(options.partitions, log_->Partitions(kTelemetryTopic));
  fleet_ = std::make_unique<history::FederatedHistory>(&insights_->history(), clock_,
                                                       peer_transport_.get(), options);
  fleet_->Start();
  return OkStatus();
}

Status InsightsRole::Health() const {
  return insights_ == nullptr ? insights_fault_ : Annotate(insights_->Health(), "insights");
}

Status InsightsRole::Ready() const { return alone_ ? insights_->Ready() : OkStatus(); }

StatusOr<std::vector<http::HttpRoute>> InsightsRole::Routes(const Config& config,
                                                            http::HttpServerOptions* server) {
  if (insights_ == nullptr) return std::vector<http::HttpRoute>();
  if (config.insights.peers.size() > 1) RETURN_IF_ERROR(StartFleet(config, server->access.tokens));
  auto sessions = std::make_shared<http::CookieSessions>(clock_);
  server->access.sessions = sessions;
  server->handler_threads = 4;  // queries may take a long time
  if (!config.external_url.empty())
    server->access.allowed_origins.push_back(OriginOf(config.external_url));
  std::function<engine::CompiledRulesPtr()> rules = [this] { return rules_in_force_->Get(); };
  if (followed_rules_ != nullptr) rules = [this] { return followed_rules_->Get(); };
  const auto ask = [this](const ActionEvent& request) -> Status {
    ASSIGN_OR_RETURN(const auto appender, log_->OpenAppender());
    const auto record = [&](std::string_view topic) -> OutgoingRecord {
      return {.topic = std::string(topic),
              .key = request.job,
              .value = cloudevents::EncodeCloudEvent(request)};
    };
    RETURN_IF_ERROR(appender->Append({record(kActionsTopic)}));
    // Collectors read interval requests from the control topic.
    if (request.kind != ActionKind::kInterval) return OkStatus();
    return appender->Append({record(kControlTopic)});
  };
  const auto silenced = [this](const IssueEvent& event) { return followed_silences_->Of(event); };
  const auto routes_over = [&](const history::History* history) {
    return HistoryRoutes({.keep = insights_.get(),
                          .history = history,
                          .clock = clock_,
                          .rules = rules,
                          .tokens = server->access.tokens,
                          .sessions = sessions,
                          .tls = !server->tls.empty(),
                          .external_url = config.external_url,
                          .archive_dir = config.ArchiveDir(),
                          .version = PITWALL_VERSION,
                          .captures = captures_,
                          .request_action = ask,
                          .silenced = silenced});
  };
  if (fleet_ == nullptr) return routes_over(nullptr);
  server->handler_threads = history::kFleetHandlerThreads;
  return history::FleetRoutes(fleet_.get(), &insights_->history(), routes_over(fleet_.get()),
                              routes_over(nullptr));
}

void InsightsRole::Stop() {
  if (fleet_ != nullptr) fleet_->Stop();
  if (remote_write_ != nullptr) remote_write_->Stop();
  if (insights_ != nullptr) insights_->Stop();
}

}  // namespace pitwall
