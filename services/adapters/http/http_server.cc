#include "services/adapters/http/http_server.h"

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <list>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "services/adapters/http/router.h"
#include "services/adapters/http/connection/session.h"
#include "services/adapters/http/tls_context.h"
#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::http {
namespace {

constexpr size_t kMostTurnedAway = 16;
constexpr int kClientClosedRequest = 499;  // same status as in nginx

class BeastServer final : public HttpServer, private SessionOwner {
 public:
  BeastServer(HttpServerOptions options, Router router, Gate gate,
              std::optional<TlsContextSource> tls)
      : options_(std::move(options)),
        router_(std::move(router)),
        gate_(std::move(gate)),
        tls_(std::move(tls)),
        acceptor_(io_),
        stop_timer_(io_),
        queries_(static_cast<size_t>(options_.handler_threads)),
        actions_(static_cast<size_t>(options_.action_threads)),
        health_(static_cast<size_t>(options_.health_threads)) {}

  ~BeastServer() override { Stop(0); }

  Status Listen(const ListenAddress& address) {
    beast::error_code error;
    const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(address.host), address.port);
    const auto fail = [&] {
      return Unavailable(Cat("cannot listen on ", options_.listen, ": ", error.message()));
    };
    acceptor_.open(endpoint.protocol(), error);
    if (error) return fail();
    acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    acceptor_.bind(endpoint, error);
    if (error) return fail();
    acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) return fail();
    const asio::ip::tcp::endpoint local = acceptor_.local_endpoint(error);
    if (error) return fail();
    port_ = local.port();
    address_ = local.address().is_v6() ? Cat("[", local.address().to_string(), "]:", port_)
                                       : Cat(local.address().to_string(), ":", port_);
    Accept();
    thread_ = std::thread([this] { io_.run(); });
    return OkStatus();
  }

  uint16_t port() const override { return port_; }
  std::string address() const override { return address_; }
  const HttpServerCounters& counters() const override { return counters_; }

  void Stop(int64_t grace_ns) override {
    if (!thread_.joinable()) return;
    asio::post(io_, [this, grace_ns] {
      stopping_ = true;
      beast::error_code ignored;
      acceptor_.close(ignored);
      accept_pause_.reset();
      ForEachSession([](Session& session) { session.BeginStop(); });
      for (const auto& weak : turned_away_) {
        if (const auto stream = weak.lock()) stream->tcp().close();
      }
      stop_timer_.expires_after(std::chrono::nanoseconds(grace_ns));
      stop_timer_.async_wait([this](beast::error_code error) {
        if (!error) ForEachSession([](Session& session) { session.Close(); });
      });
      StopIfIdle();
    });
    thread_.join();
    for (asio::thread_pool* pool : pools_) pool->join();
  }

 private:
  const HttpLimits& limits() const override { return options_.limits; }
  const HttpTimeouts& timeouts() const override { return options_.timeouts; }
  void CountRequest() override { counters_.requests.Add(); }
  void CountBadRequest(Refusal reason) override {
    counters_.bad_requests.Add();
    Count(reason);
  }
  void Count(Refusal reason) { counters_.refused[static_cast<size_t>(reason)].Add(); }
  bool stopping() const override { return stopping_; }

  template <typename F>
  void ForEachSession(F f) {
    for (const auto& weak : sessions_) {
      if (const std::shared_ptr<Session> session = weak.lock()) f(*session);
    }
  }

  // After the last session has ended, only the timer keeps run() from returning.
  void StopIfIdle() {
    if (stopping_ && live_ == 0) stop_timer_.cancel();
  }

  void Accept() {
    acceptor_.async_accept([this](beast::error_code error, asio::ip::tcp::socket socket) {
      if (stopping_) return;
      if (error) {
        // The process has probably run out of file descriptors, so the next attempt is delayed.
        accept_pause_.emplace(io_);
        accept_pause_->expires_after(std::chrono::milliseconds(50));
        accept_pause_->async_wait([this](beast::error_code cancelled) {
          if (!cancelled && !stopping_) Accept();
        });
        return;
      }
      Open(std::move(socket));
      Accept();
    });
  }

  void Open(asio::ip::tcp::socket socket) {
    counters_.connections.Add();
    beast::error_code error;
    const asio::ip::tcp::endpoint remote = socket.remote_endpoint(error);
    const std::string peer = error ? "" : remote.address().to_string();
    const bool full = live_ - reserved_ >= options_.limits.max_connections;
    const bool reserved = full || LiveOf(peer) >= options_.limits.max_connections_per_address;
    if (reserved && reserved_ >= options_.limits.reserved_connections) {
      CountConnection(full ? Refusal::kConnections : Refusal::kAddressConnections);
      TurnAway(std::move(socket));
      return;
    }
    socket.set_option(asio::ip::tcp::no_delay(true), error);
    std::erase_if(sessions_, [](const auto& weak) { return weak.expired(); });
    ++live_;
    ++(reserved ? reserved_ : live_of_[peer]);
    // The deleter runs on the I/O thread because each session is released by its last operation.
    const auto track = [this, peer, reserved](Session* session) {
      delete session;
      --live_;
      if (--(reserved ? reserved_ : live_of_[peer]) == 0 && !reserved) live_of_.erase(peer);
      StopIfIdle();
    };
    auto stream = MakeByteStream(std::move(socket), tls_ ? tls_->Current() : nullptr);
    Register(std::shared_ptr<Session>(new Session(this, std::move(stream), peer, reserved), track));
  }

  // Sends 503 to a rejected connection if that is cheap. The write never blocks, and only a few
  // sockets stay open briefly, so that the client can read the response before a reset. With TLS,
  // or if too many such sockets are open, the connection is closed without a response.
  void TurnAway(asio::ip::tcp::socket socket) {
    std::erase_if(turned_away_, [](const auto& weak) { return weak.expired(); });
    if (tls_ || turned_away_.size() >= kMostTurnedAway) return;
    static constexpr std::string_view kAnswer =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
        "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\n\r\n"
        "too many connections\n";
    beast::error_code error;
    socket.non_blocking(true, error);
    socket.write_some(asio::buffer(kAnswer), error);
    if (error) return;
    socket.shutdown(asio::ip::tcp::socket::shutdown_send, error);
    const std::shared_ptr<ByteStream> stream = MakeByteStream(std::move(socket), nullptr);
    turned_away_.push_back(stream);
    stream->tcp().expires_after(std::chrono::nanoseconds(options_.timeouts.linger_ns));
    PassOver(stream, std::make_shared<std::array<char, 1024>>());
  }

  void PassOver(const std::shared_ptr<ByteStream>& stream,
                const std::shared_ptr<std::array<char, 1024>>& bytes) {
    stream->ReadSome(asio::buffer(*bytes), [this, stream, bytes](beast::error_code error, size_t) {
      if (!error && !stopping_) PassOver(stream, bytes);
    });
  }

  size_t LiveOf(const std::string& peer) const {
    const auto at = live_of_.find(peer);
    return at == live_of_.end() ? 0 : at->second;
  }

  void Register(const std::shared_ptr<Session>& session) {
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
      // Unauthorized clients must not be able to find out which paths exist.
      static const HttpRoute kNone;
      if (auto turned = gate_.Check(request, kNone)) return Refuse(std::move(*turned), done);
      if (match.allow.empty()) return done(HttpResponse::Text(404, "not found\n"));
      HttpResponse response = HttpResponse::Text(405, "method not allowed\n");
      response.headers.emplace_back("Allow", match.allow);
      return done(std::move(response));
    }
    if (auto turned = gate_.Check(request, *match.route)) return Refuse(std::move(*turned), done);
    request.role = gate_.RoleOf(request);
    const auto lane = static_cast<size_t>(match.route->lane);
    if (arrival.reserved && match.route->lane == Lane::kQueries) {
      CountConnection(Refusal::kConnections);
      return done(Busy("too many connections\n"));
    }
    if (waiting_[lane].load() >= options_.limits.max_waiting_requests) {
      counters_.overloaded.Add();
      Count(Refusal::kOverloaded);
      return done(Busy("too many waiting requests\n"));
    }
    ++waiting_[lane];
    // The work guard keeps run() from returning until the response is posted back.
    asio::post(
        *pools_[lane], [this, lane, route = match.route, arrival = std::move(arrival),
                        done = std::move(done), guard = asio::make_work_guard(io_)]() mutable {
          HttpResponse response = Answer(*route, arrival);
          --waiting_[lane];
          asio::post(io_, [done = std::move(done), response = std::move(response)]() mutable {
            done(std::move(response));
          });
        });
  }

  // Runs the handler. A canceled read-only request is not started. An action that has started is
  // never canceled.
  static HttpResponse Answer(const HttpRoute& route, const Arrival& arrival) {
    const HttpRequest& request = arrival.request;
    if (arrival.cancel->canceled() && (request.method == "GET" || request.method == "HEAD"))
      return HttpResponse::Text(kClientClosedRequest, "the request was canceled\n");
    const CancelScope scope(route.lane == Lane::kActions ? nullptr : arrival.cancel.get());
    try {
      return route.handler(request);
    } catch (const std::exception& e) {
      PITWALL_LOG(kError, "http", request.path, ": ", e.what());
      return HttpResponse::Text(500, "internal error\n");
    }
  }

  static HttpResponse Busy(std::string_view text) {
    HttpResponse response = HttpResponse::Text(503, text);
    response.headers.emplace_back("Retry-After", "1");
    return response;
  }

  void CountConnection(Refusal reason) {
    counters_.connections_refused.Add();
    Count(reason);
  }

  void Refuse(Gate::Turned turned, const std::function<void(HttpResponse)>& done) {
    Count(turned.reason);
    done(std::move(turned.response));
  }

  bool OpenStream(const std::string& peer) override {
    size_t& of_peer = streams_of_[peer];
    if (streams_ < options_.limits.max_streams &&
        of_peer < options_.limits.max_streams_per_address) {
      ++streams_;
      ++of_peer;
      counters_.streams.Add();
      return true;
    }
    if (of_peer == 0) streams_of_.erase(peer);
    Count(Refusal::kStreams);
    return false;
  }
  void CloseStream(const std::string& peer) override {
    --streams_;
    if (--streams_of_[peer] == 0) streams_of_.erase(peer);
  }

  const HttpServerOptions options_;
  const Router router_;
  const Gate gate_;
  std::optional<TlsContextSource> tls_;
  HttpServerCounters counters_;
  asio::io_context io_{1};
  asio::ip::tcp::acceptor acceptor_;
  std::optional<asio::steady_timer> accept_pause_;
  asio::steady_timer stop_timer_;
  asio::thread_pool queries_, actions_, health_;
  const std::array<asio::thread_pool*, kLanes> pools_ = {&queries_, &actions_,
                                                         &health_};  // by Lane
  std::thread thread_;
  uint16_t port_ = 0;
  std::string address_;
  std::array<std::atomic<size_t>, kLanes> waiting_{};  // by Lane
  // The following fields are used only on the I/O thread.
  std::vector<std::weak_ptr<Session>> sessions_;
  size_t live_ = 0;
  size_t reserved_ = 0;  // open reserved connections
  // Rejected connections whose client has not read the response yet.
  std::vector<std::weak_ptr<ByteStream>> turned_away_;
  std::map<std::string, size_t> live_of_;  // by address; at most max_connections entries
  size_t streams_ = 0;
  std::map<std::string, size_t> streams_of_;  // by address
  bool stopping_ = false;
};

Status CheckOptions(const HttpServerOptions& o) {
  for (const int threads : {o.handler_threads, o.action_threads, o.health_threads}) {
    if (threads < 1 || threads > 256)
      return InvalidArgument(
          Cat("handler, action, and health threads must be from 1 to 256 (got ", threads, ")"));
  }
  RETURN_IF_ERROR(o.limits.Check());
  return o.timeouts.Check();
}

}  // namespace

StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options,
                                                        std::vector<HttpRoute> routes) {
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
                                              std::move(gate), std::move(tls));
  RETURN_IF_ERROR(server->Listen(address));
  return server;
}

}  // namespace pitwall::http
