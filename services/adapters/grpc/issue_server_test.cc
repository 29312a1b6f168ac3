// Tests for the server and the client over loopback, using a scripted source.
#include "services/adapters/grpc/issue_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#include "services/adapters/grpc/credentials.h"
#include "services/adapters/grpc/testing/issue_server_fixture.h"
#include "services/adapters/grpc/testing/scripted_issue_source.h"
#include "services/base/text/strings.h"

namespace pitwall::grpc_adapter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using IssueServerTest = IssueServerFixture<ScriptedSource>;

// Watch by a client on its own thread. The first batch has arrived when the constructor returns.
class ConnectedWatch {
 public:
  explicit ConnectedWatch(IssueClient* client)
      : thread_([this, client] {
          status_ = client->Watch({}, [this](const WatchBatch&) {
            const std::lock_guard<std::mutex> lock(mutex_);
            connected_ = true;
            changed_.notify_all();
            return true;
          });
        }) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return connected_; });
  }
  // Waits for the end of the watch and returns its status.
  Status Join() {
    thread_.join();
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool connected_ = false;
  Status status_;
  std::thread thread_;
};

TEST_F(IssueServerTest, ListAndGetReturnEvents) {
  Run();
  const auto client = Client();
  IssueQuery query;
  query.filter = {"j", "r", "critical", true, "00ff"};
  query.include_ended = true;
  query.page_size = 7;
  query.page_token = "page";
  const StatusOr<IssuePage> page = client->List(query);
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->issues.size(), 2U);
  EXPECT_EQ(page->issues[1]->id, "b");
  EXPECT_EQ(page->next_page_token, "next");
  EXPECT_EQ(page->resume_token, "resume");
  EXPECT_EQ(source_.last_query.filter.severity, "critical");
  EXPECT_TRUE(source_.last_query.filter.include_status);
  EXPECT_EQ(source_.last_query.filter.incident, "00ff");
  EXPECT_TRUE(source_.last_query.include_ended);
  EXPECT_EQ(source_.last_query.page_size, 7);
  EXPECT_EQ(source_.last_query.page_token, "page");
  EXPECT_EQ((*client->Get("a"))[0]->id, "a");
  EXPECT_EQ(client->Get("x").status().code(), absl::StatusCode::kNotFound);
  source_.list_error = Unavailable("history is being read");
  const Status status = client->List({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.ToString(), HasSubstr("history is being read"));
}

TEST_F(IssueServerTest, WatchRunsUntilClientStops) {
  Run();
  source_.Push(WatchBatch{{Event("a"), Event("b")}, "t1"});
  source_.Push(WatchBatch{{}, "t2"});
  source_.Push(WatchBatch{{Event("c")}, "t3"});
  std::vector<std::string> seen;
  WatchQuery query;
  query.resume_token = "resume";
  query.from_start = true;
  query.filter.job = "j";
  const Status status = Client()->Watch(query, [&](const WatchBatch& batch) {
    seen.push_back(batch.resume_token);
    for (const IssueEventPtr& event : batch.events) seen.push_back(event->id);
    return batch.resume_token != "t3";
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(seen, ElementsAre("start", "t1", "a", "b", "t2", "t3", "c"));
  EXPECT_EQ(source_.last_watch.resume_token, "resume");
  EXPECT_EQ(source_.last_watch.filter.job, "j");
  EXPECT_TRUE(source_.last_watch.from_start);
  source_.AwaitClosed(1);  // a disconnected client frees its resources
}

TEST_F(IssueServerTest, SourceErrorsReachClient) {
  Run();
  const auto client = Client();
  const auto watch = [&](std::string token) {
    WatchQuery query;
    query.resume_token = std::move(token);
    return client->Watch(query, [](const WatchBatch&) { return true; }).code();
  };
  EXPECT_EQ(watch("old"), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(watch("bad"), absl::StatusCode::kInvalidArgument);
  source_.Push(ResourceExhausted("fell behind"));
  EXPECT_EQ(watch(""), absl::StatusCode::kResourceExhausted);
}

TEST_F(IssueServerTest, SlowClientIsDisconnected) {
  IssueServerOptions options;
  options.stall_limit_ns = 200 * kNanosPerMilli;
  Run(options);
  source_.endless_bytes = 1 << 20;
  const auto wakeup = clock_.NewWakeup();
  int batches = 0;
  const Status status = Client()->Watch({}, [&](const WatchBatch&) {
    // Reads the first two messages, then reads nothing for 1.5 times the limit.
    if (++batches == 2) wakeup->Wait(300 * kNanosPerMilli);
    return true;
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  source_.AwaitClosed(1);
  EXPECT_LT(source_.Served(), 200) << "the server must buffer only a limited number of events";
}

TEST_F(IssueServerTest, StalledClientIsDisconnected) {
  IssueServerOptions options;
  options.stall_limit_ns = 100 * kNanosPerMilli;
  Run(options);
  source_.endless_bytes = 1 << 20;
  int batches = 0;
  const Status status = Client()->Watch({}, [&](const WatchBatch&) {
    if (++batches == 2)
      source_.AwaitClosed(1);  // reads nothing until the server has ended the call
    return true;
  });
  EXPECT_FALSE(status.ok());
}

TEST(CheckRole, ActRequiresActToken) {
  using ::grpc::StatusCode;
  const AccessTokens tokens{.view = "look", .act = "touch"};
  const auto code = [](const char* token, const AccessTokens& of, Role needed) {
    return CheckRole(Cat("Bearer ", token), of, needed).error_code();
  };
  EXPECT_EQ(code("look", tokens, Role::kView), StatusCode::OK);
  EXPECT_EQ(code("touch", tokens, Role::kView), StatusCode::OK);
  EXPECT_EQ(code("touch", tokens, Role::kAct), StatusCode::OK);
  EXPECT_EQ(code("look", tokens, Role::kAct), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(code("none", tokens, Role::kAct), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code("none", tokens, Role::kView), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(code("", {}, Role::kView), StatusCode::OK) << "viewing requires no token on loopback";
  EXPECT_EQ(code("", {}, Role::kAct), StatusCode::PERMISSION_DENIED);
}

TEST_F(IssueServerTest, LimitsWatchesPerAddress) {
  IssueServerOptions options;
  options.max_watches_per_address = 1;
  Run(options);
  const auto first = Client();
  ConnectedWatch watch(first.get());
  const Status refused = Client()->Watch({}, [](const WatchBatch&) { return true; });
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.ToString(),
              HasSubstr("ipv4:127.0.0.1 already has the maximum of 1 watchers"));
  first->Cancel();
  (void)watch.Join();
  source_.AwaitClosed(1);
}

TEST_F(IssueServerTest, IdleConnectionIsClosed) {
  IssueServerOptions options;
  options.handshake_timeout_ns = 200 * kNanosPerMilli;
  Run(options);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(server_->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  timeval limit{20, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  char buffer[256];
  ssize_t n = 1;
  while (n > 0)
    n = recv(fd, buffer, sizeof buffer, 0);  // the settings frame, then the end of the stream
  EXPECT_TRUE(n == 0 || errno == ECONNRESET) << errno;
  close(fd);
}

TEST_F(IssueServerTest, LimitsWatches) {
  IssueServerOptions options;
  options.max_watches = 1;
  Run(options);
  const auto first = Client();
  ConnectedWatch watch(first.get());
  EXPECT_EQ(Client()->Watch({}, [](const WatchBatch&) { return true; }).code(),
            absl::StatusCode::kResourceExhausted);
  first->Cancel();
  (void)watch.Join();
  source_.AwaitClosed(1);
}

TEST_F(IssueServerTest, StopEndsWatchesAndServer) {
  Run();
  const auto client = Client();
  ConnectedWatch watch(client.get());
  server_->Stop();
  const Status status = watch.Join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  server_->Stop();
  server_->SetServing(true);
}

TEST_F(IssueServerTest, CallNeverEnds_StopReturns) {
  // The call outlives the server and the test.
  static auto* const source = new ScriptedSource;
  IssueServerOptions options;
  options.stop_limit_ns = 50 * kNanosPerMilli;
  server_ = *IssueServer::Start(&clock_, source, options);
  const auto client = Client();
  Status status;
  std::thread caller([&] { status = client->Get("stuck").status(); });
  source->AwaitStuck();
  server_->Stop();
  source->Release();
  caller.join();
  EXPECT_FALSE(status.ok());
}

TEST_F(IssueServerTest, RequiresToken) {
  IssueServerOptions options;
  options.listen = "0.0.0.0:0";
  EXPECT_EQ(IssueServer::Start(&clock_, &source_, options).status().code(),
            absl::StatusCode::kInvalidArgument);
  options.tokens.view = "t0ken";
  Run(options);
  EXPECT_EQ(Client()->List({}).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(Client("wrong")->Get("a").status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(Client("wrong")->Watch({}, [](const WatchBatch&) { return true; }).code(),
            absl::StatusCode::kUnauthenticated);
  EXPECT_TRUE(Client("t0ken")->List({}).ok());
}

TEST_F(IssueServerTest, PortInUse_ErrorNamesPort) {
  Run();
  IssueServerOptions options;
  options.listen = Cat("127.0.0.1:", server_->port());
  const Status status = IssueServer::Start(&clock_, &source_, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.ToString(), HasSubstr(options.listen));
}

std::string BytesOf(const ::grpc::ByteBuffer& buffer) {
  std::vector<::grpc::Slice> slices;
  std::string out;
  if (!buffer.Dump(&slices).ok()) return out;
  for (const ::grpc::Slice& s : slices)
    out.append(reinterpret_cast<const char*>(s.begin()), s.size());
  return out;
}

// grpc.health.v1.Health/Check, encoded by hand: {1: service} -> {1: status}. SERVING is 1, and
// NOT_SERVING is 2.
std::string Health(int port, const std::string& service, ::grpc::Status* status) {
  const auto channel =
      ::grpc::CreateChannel(Cat("127.0.0.1:", port), ::grpc::InsecureChannelCredentials());
  std::string body;
  if (!service.empty())
    body = Cat("\x0a", std::string(1, static_cast<char>(service.size())), service);
  ::grpc::Slice slice(body);
  const ::grpc::ByteBuffer request(&slice, 1);
  ::grpc::ByteBuffer response;
  ::grpc::ClientContext context;
  ::grpc::CompletionQueue queue;
  ::grpc::GenericStub stub(channel);
  const auto call =
      stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  call->Finish(&response, status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  EXPECT_TRUE(queue.Next(&tag, &ok));
  return BytesOf(response);
}

TEST_F(IssueServerTest, RespondsToHealthChecks) {
  Run();
  ::grpc::Status status;
  EXPECT_EQ(Health(server_->port(), "", &status), "\x08\x02");
  server_->SetServing(true);
  EXPECT_EQ(Health(server_->port(), "", &status), "\x08\x01");
  EXPECT_EQ(Health(server_->port(), "pitwall.issues.v1.IssueService", &status), "\x08\x01");
  (void)Health(server_->port(), "other", &status);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::NOT_FOUND);
}

// grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo, encoded by hand: {7:
// list_services} -> service names.
TEST_F(IssueServerTest, ReflectionListsServices) {
  Run();
  const auto channel = ::grpc::CreateChannel(Cat("127.0.0.1:", server_->port()),
                                             ::grpc::InsecureChannelCredentials());
  ::grpc::GenericStub stub(channel);
  ::grpc::ClientContext context;
  ::grpc::CompletionQueue queue;
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(
      &context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  call->StartCall(nullptr);
  ASSERT_TRUE(next());
  ::grpc::Slice slice(std::string("\x3a\x00", 2));
  call->Write(::grpc::ByteBuffer(&slice, 1), nullptr);
  ASSERT_TRUE(next());
  ::grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  ASSERT_TRUE(next());
  EXPECT_THAT(BytesOf(answer), HasSubstr("pitwall.issues.v1.IssueService"));
  EXPECT_THAT(BytesOf(answer), HasSubstr("grpc.health.v1.Health"));
  call->WritesDone(nullptr);
  ASSERT_TRUE(next());
  ::grpc::Status status;
  call->Finish(&status, nullptr);
  ASSERT_TRUE(next());
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(IssueServerTest, ServesTls) {
  const std::string dir = testing::TempDir() + Cat("/pitwall-grpc-tls-", getpid());
  const std::string make =
      Cat("mkdir -p ", dir,
          " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj ",
          "/CN=x -addext subjectAltName=IP:127.0.0.1 -keyout ", dir, "/key.pem -out ", dir,
          "/cert.pem >/dev/null 2>&1");
  if (std::system(make.c_str()) != 0) GTEST_SKIP() << "the openssl command is not available";
  IssueServerOptions options;
  options.tls = {dir + "/cert.pem", dir + "/key.pem",
                 dir + "/cert.pem"};  // also requires client certificates
  Run(options);
  IssueClientOptions client;
  client.target = Cat("127.0.0.1:", server_->port());
  client.tls = true;
  client.ca_file = dir + "/cert.pem";
  client.timeout_ns = 2 * kNanosPerSecond;
  EXPECT_FALSE((*IssueClient::Make(client))->List({}).ok())
      << "a client without a certificate must be rejected";
  client.certificate_file = dir + "/cert.pem";
  client.key_file = dir + "/key.pem";
  client.timeout_ns = 10 * kNanosPerSecond;
  const StatusOr<IssuePage> page = (*IssueClient::Make(client))->List({});
  EXPECT_TRUE(page.ok()) << page.status();
  // Only cipher suites with forward secrecy and authenticated encryption are allowed, so CBC and
  // RSA key exchange are rejected.
  const auto handshake = [&](std::string_view options_of_client) {
    return std::system(Cat("openssl s_client -connect 127.0.0.1:", server_->port(), " -cert ", dir,
                           "/cert.pem -key ", dir, "/key.pem -alpn h2 ", options_of_client,
                           " </dev/null >/dev/null 2>&1")
                           .c_str()) == 0;
  };
  EXPECT_TRUE(handshake("-tls1_3"));
  EXPECT_TRUE(handshake("-tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256"));
  EXPECT_FALSE(handshake("-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA"));
  EXPECT_FALSE(handshake("-tls1_2 -cipher ECDHE-ECDSA-AES256-SHA384"));
  EXPECT_FALSE(handshake("-tls1_1 -cipher DEFAULT@SECLEVEL=0"));
  options.tls.certificate_file = dir + "/none.pem";
  EXPECT_EQ(IssueServer::Start(&clock_, &source_, options).status().code(),
            absl::StatusCode::kInvalidArgument);
  std::system(Cat("rm -r ", dir).c_str());
}

TEST(IssueClient, MissingServerIsUnavailable) {
  IssueClientOptions options;
  options.target = "127.0.0.1:1";
  options.timeout_ns = 5 * kNanosPerSecond;
  EXPECT_EQ((*IssueClient::Make(options))->List({}).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace pitwall::grpc_adapter
