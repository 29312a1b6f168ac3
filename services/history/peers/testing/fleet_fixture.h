// Test fixture that runs several history processes in one process, each with its own jobs. They
// query each other through their routes.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/adapters/clock/system_clock.h"
#include "services/adapters/http/router.h"
#include "services/base/mutex.h"
#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/history/api/api_routes.h"
#include "services/history/peers/federated_history.h"
#include "services/history/peers/fleet_routes.h"
#include "services/history/promapi/prom_routes.h"
#include "services/history/testing/vector_history.h"
#include "services/io/http_transport.h"

namespace pitwall::history {

class TestKeeper final : public HistoryAdmin {
 public:
  explicit TestKeeper(VectorHistory* history) : history_(history) {}
  Status DeleteJob(std::string_view job) override {
    RETURN_IF_ERROR(history_->FindJob(job).status());
    history_->Erase(std::string(job));
    return OkStatus();
  }
  Status ArchiveJob(std::string_view, const std::string&) override { return OkStatus(); }

 private:
  VectorHistory* const history_;
};

inline http::HttpResponse Ask(const http::Router& router, std::string_view method,
                              std::string_view target,
                              std::vector<std::pair<std::string, std::string>> headers = {},
                              std::string body = "", Role role = Role::kAct) {
  http::HttpRequest request;
  EXPECT_TRUE(http::ParseTarget(target, &request)) << target;
  request.method = method;
  request.headers = std::move(headers);
  request.body = std::move(body);
  request.role = role;
  const auto match = router.Find(method, request.path);
  if (match.route == nullptr) return http::HttpResponse::Text(404, Cat("no route: ", target));
  return match.route->handler(request);
}

// Sends http://<index>/… to the process with that index.
class TestNetwork final : public HttpTransport {
 public:
  StatusOr<HttpReply> Perform(const HttpCall& call) override {
    const std::string rest = call.url.substr(std::string_view("http://").size());
    const size_t slash = rest.find('/');
    const int index = static_cast<int>(*ParseInt(rest.substr(0, slash)));
    {
      MutexLock lock(&mutex_);
      calls_.push_back(call);
      if (down_.contains(index)) return Unavailable("connection refused");
    }
    std::vector<std::pair<std::string, std::string>> headers = call.headers;
    for (auto& [name, value] : headers) {
      for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    const http::HttpResponse response =
        Ask(*routers.at(index), call.method, rest.substr(slash), headers, call.body);
    HttpReply reply{response.status, {{"content-type", response.content_type}}, response.body};
    for (const auto& header : response.headers) reply.headers.push_back(header);
    return reply;
  }
  Status CheckUrl(std::string_view) const override { return OkStatus(); }

  void SetDown(int index, bool down) {
    MutexLock lock(&mutex_);
    if (down) {
      down_.insert(index);
    } else {
      down_.erase(index);
    }
  }
  std::vector<HttpCall> TakeCalls() {
    MutexLock lock(&mutex_);
    return std::exchange(calls_, {});
  }

  std::map<int, const http::Router*> routers;  // must be set before the first call

 private:
  Mutex mutex_;
  std::set<int> down_ ABSL_GUARDED_BY(mutex_);
  std::vector<HttpCall> calls_ ABSL_GUARDED_BY(mutex_);
};

class TestFleet {
 public:
  static constexpr int32_t kPartitions = 8;

  explicit TestFleet(int size) {
    FleetOptions options;
    options.partitions = kPartitions;
    options.follow_ns = 2 * kNanosPerMilli;
    options.peer.rest_ns = 0;
    options.peer.tokens = {"view-token", "act-token"};
    for (int i = 0; i < size; ++i) options.peers.push_back(Cat("http://", i, "/"));
    for (int i = 0; i < size; ++i) {
      auto process = std::make_unique<Process>();
      options.index = i;
      process->keeper = std::make_unique<TestKeeper>(&process->own);
      process->fleet = std::make_unique<FederatedHistory>(&process->own, &clock, &network, options);
      process->router = RouterOf(FleetRoutes(process->fleet.get(), &process->own,
                                             RoutesOver(process->fleet.get(), process.get()),
                                             RoutesOver(&process->own, process.get())));
      network.routers[i] = process->router.get();
      processes_.push_back(std::move(process));
    }
    alone_.keeper = std::make_unique<TestKeeper>(&alone_.own);
    alone_.router = RouterOf(RoutesOver(&alone_.own, &alone_));
    for (const auto& process : processes_) process->fleet->Start();
  }
  ~TestFleet() {
    for (const auto& process : processes_) process->fleet->Stop();
  }

  int OwnerOf(const std::string& job) const { return processes_[0]->fleet->fleet().OwnerOf(job); }
  VectorHistory& own(int index) { return processes_[static_cast<size_t>(index)]->own; }
  FederatedHistory& fleet(int index) { return *processes_[static_cast<size_t>(index)]->fleet; }
  const http::Router& router(int index) { return *processes_[static_cast<size_t>(index)]->router; }
  // Returns the routes of a process that stores all jobs.
  const http::Router& alone() { return *alone_.router; }
  // Edits the job both in its owner's history and in the history that has all jobs.
  template <typename F>
  void Edit(const std::string& job, F fill) {
    own(OwnerOf(job)).Edit(job, fill);
    alone_.own.Edit(job, fill);
  }

  clock::SystemClock clock;
  TestNetwork network;

 private:
  struct Process {
    VectorHistory own;
    std::unique_ptr<TestKeeper> keeper;
    std::unique_ptr<FederatedHistory> fleet;
    std::unique_ptr<http::Router> router;
  };
  std::vector<http::HttpRoute> RoutesOver(const History* history, Process* process) {
    ApiOptions api;
    api.history = history;
    api.keeper = process->keeper.get();
    api.clock = &clock;
    std::vector<http::HttpRoute> out = Routes(api);
    for (http::HttpRoute& route : promapi::PromRoutes(history, &clock, {}, {}))
      out.push_back(std::move(route));
    return out;
  }
  static std::unique_ptr<http::Router> RouterOf(std::vector<http::HttpRoute> routes) {
    auto router = http::Router::Make(std::move(routes));
    EXPECT_TRUE(router.ok()) << router.status();
    return std::make_unique<http::Router>(*std::move(router));
  }

  std::vector<std::unique_ptr<Process>> processes_;
  Process alone_;
};

}  // namespace pitwall::history
