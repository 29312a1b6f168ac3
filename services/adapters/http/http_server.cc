#include "services/adapters/http/http_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "services/adapters/http/connection/session.h"
#include "services/adapters/http/connection_counts.h"
#include "services/adapters/http/handler_lanes.h"
#include "services/adapters/http/listener.h"
#include "services/adapters/http/rejected_connections.h"
#include "services/adapters/http/router.h"
#include "services/adapters/http/tls_context.h"
#include "services/base/system/worker.h"
#include "services/base/text/strings.h"
#include "services/self_metrics/probe.h"

namespace pitwall::http {
namespace {

HttpResponse Busy(std::string_view text) {
  HttpResponse response = HttpResponse::Text(503, text);
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

class BeastServer final : public HttpServer, private SessionOwner {
 public:
  BeastServer(HttpServerOptions options, Router router, Gate gate,
              std::optional<TlsContextSource> tls, self_metrics::Exposition* exposition)
      : options_(std::move(options)),
        router_(std::move(router)),
        gate_(std::move(gate)),
        tls_(std::move(tls)),
        listener_(&io_, [this](asio::ip::tcp::socket socket) { Open(std::move(socket)); }),
        stop_timer_(io_),
        lanes_(options_, &io_),
        connections_(options_.limits),
        streams_(options_.limits),
        rejected_(tls_.has_value(), options_.timeouts.linger_ns),
        probe_(exposition) {
    probe_.Add("pitwall_http_connections_total", "Connections accepted.", &counters_.connections);
    probe_.Add("pitwall_http_requests_total", "Requests read.", &counters_.requests);
    for (size_t i = 0; i < kRefusalNames.size(); ++i) {
      probe_.Add("pitwall_http_refused_total", "Refused connections and requests, by reason.",
                 &counters_.refused[i], {{"reason", kRefusalNames[i]}});
    }
  }

  ~BeastServer() override { Stop(0); }

  Status Listen(const ListenAddress& address) {
    RETURN_IF_ERROR(listener_.Open(address, options_.listen));
    worker_.Start([this] { io_.run(); });
    return OkStatus();
  }

  uint16_t port() const override { return listener_.port(); }
  std::string address() const override { return listener_.address(); }
  const HttpServerCounters& counters() const override { return counters_; }

  void Stop(int64_t grace_ns) override {
    if (!worker_.started()) return;
    asio::post(io_, [this, grace_ns] {
      stopping_ = true;
      listener_.Close();
      ForEachSession([](Session& session) { session.BeginStop(); });
      rejected_.Close();
      stop_timer_.expires_after(std::chrono::nanoseconds(grace_ns));
      stop_timer_.async_wait([this](beast::error_code error) {
        if (!error) ForEachSession([](Session& session) { session.Close(); });
      });
      StopIfIdle();
    });
    worker_.Stop();
    lanes_.Join();
  }

 private:
  const HttpLimits& limits() const override { return options_.limits; }
  const HttpTimeouts& timeouts() const override { return options_.timeouts; }
  void CountRequest() override { counters_.requests.Add(); }
  void CountBadRequest(Refusal reason) override {
    counters_.bad_requests.Add();
    counters_.Count(reason);
  }
  bool stopping() const override { return stopping_; }

  template <typename F>
  void ForEachSession(F f) {
    for (const auto& weak : sessions_) {
      if (const std::shared_ptr<Session> session = weak.lock()) f(*session);
    }
  }

  // After the last session has ended, only the timer keeps run() from returning.
  void StopIfIdle() {
    if (stopping_ && connections_.empty()) stop_timer_.cancel();
  }

  void Open(asio::ip::tcp::socket socket) {
    counters_.connections.Add();
    beast::error_code error;
    const asio::ip::tcp::endpoint remote = socket.remote_endpoint(error);
    const std::string peer = error ? "" : remote.address().to_string();
    bool reserved = false;
    if (const std::optional<Refusal> reason = connections_.Open(peer, &reserved)) {
      CountConnection(*reason);
      rejected_.Reject(std::move(socket));
      return;
    }
    socket.set_option(asio::ip::tcp::no_delay(true), error);
    std::erase_if(sessions_, [](const auto& weak) { return weak.expired(); });
    // The deleter runs on the I/O thread because each session is released by its last operation.
    const auto track = [this, peer, reserved](Session* session) {
      delete session;
      connections_.Close(peer, reserved);
      StopIfIdle();
    };
    auto stream = MakeByteStream(std::move(socket), tls_ ? tls_->Current() : nullptr);
    const std::shared_ptr<Session> session(new Session(this, std::move(stream), peer, reserved),
                                           track);
    sessions_.push_back(session);
    session->Run();
  }

  void Handle(Arrival arrival, std::function<void(HttpResponse)> done) override {
    HttpRequest& request = arrival.request;
    if (!ParseTarget(arrival.target, &request)) {
      CountBadRequest(Refusal::kMalformed);
      return done(HttpResponse::Text(400, "bad request target\n"));
    }
    const Router::Match match = router_.Find(request.method, request.path);
    if (match.route == nullptr) {
      // Unauthorized clients must not be able to discover which paths exist.
      static const HttpRoute kNone;
      if (auto turned = gate_.Check(request, kNone)) return Refuse(std::move(*turned), done);
      if (match.allow.empty()) return done(HttpResponse::Text(404, "not found\n"));
      HttpResponse response = HttpResponse::Text(405, "method not allowed\n");
      response.headers.emplace_back("Allow", match.allow);
      return done(std::move(response));
    }
    if (auto turned = gate_.Check(request, *match.route)) return Refuse(std::move(*turned), done);
    request.role = gate_.RoleOf(request);
    if (arrival.reserved && match.route->lane == Lane::kQueries) {
      CountConnection(Refusal::kConnections);
      return done(Busy("too many connections\n"));
    }
    if (lanes_.IsFull(match.route->lane)) {
      counters_.overloaded.Add();
      counters_.Count(Refusal::kOverloaded);
      return done(Busy("too many waiting requests\n"));
    }
    lanes_.Run(match.route, std::move(arrival), std::move(done));
  }

  void CountConnection(Refusal reason) {
    counters_.connections_refused.Add();
    counters_.Count(reason);
  }

  void Refuse(Gate::Turned turned, const std::function<void(HttpResponse)>& done) {
    counters_.Count(turned.reason);
    done(std::move(turned.response));
  }

  bool OpenStream(const std::string& peer) override {
    if (streams_.Open(peer)) {
      counters_.streams.Add();
      return true;
    }
    counters_.Count(Refusal::kStreams);
    return false;
  }
  void CloseStream(const std::string& peer) override { streams_.Close(peer); }

  const HttpServerOptions options_;
  const Router router_;
  const Gate gate_;
  std::optional<TlsContextSource> tls_;
  HttpServerCounters counters_;
  asio::io_context io_{1};
  Listener listener_;
  asio::steady_timer stop_timer_;
  HandlerLanes lanes_;
  Worker worker_{nullptr, "http"};  // the destructor calls Stop, which ends io_.run()
  // The following members are used only on the I/O thread.
  std::vector<std::weak_ptr<Session>> sessions_;
  ConnectionCounts connections_;
  StreamCounts streams_;
  RejectedConnections rejected_;
  bool stopping_ = false;
  self_metrics::Probe probe_;
};

Status CheckOptions(const HttpServerOptions& o) {
  for (const int threads : {o.handler_threads, o.action_threads, o.health_threads}) {
    if (threads < 1 || threads > 256)
      return InvalidArgument(
          Cat("handler, action, and health thread counts must be 1 to 256 (got ", threads, ")"));
  }
  RETURN_IF_ERROR(o.limits.Check());
  return o.timeouts.Check();
}

}  // namespace

StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options,
                                                        std::vector<HttpRoute> routes,
                                                        self_metrics::Exposition* exposition) {
  RETURN_IF_ERROR(CheckOptions(options));
  ASSIGN_OR_RETURN(const ListenAddress address, ParseListenAddress(options.listen));
  if (!address.loopback && options.access.tokens.empty()) {
    for (const HttpRoute& route : routes) {
      if (route.open) continue;
      return InvalidArgument(Cat("listening on ", options.listen,
                                 " requires a token because route ", route.path, " is not public"));
    }
  }
  ASSIGN_OR_RETURN(Router router, Router::Make(std::move(routes)));
  std::optional<TlsContextSource> tls;
  if (!options.tls.empty()) {
    ASSIGN_OR_RETURN(tls, TlsContextSource::Make(options.tls));
  }
  Gate gate(options.access.tokens, address.loopback, options.access.allowed_hosts,
            options.access.allowed_origins, options.access.sessions);
  auto server = std::make_unique<BeastServer>(std::move(options), std::move(router),
                                              std::move(gate), std::move(tls), exposition);
  RETURN_IF_ERROR(server->Listen(address));
  return server;
}

}  // namespace pitwall::http
