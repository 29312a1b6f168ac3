// Server for the gRPC IssueService (proto/pitwall/issues/v1/issue_service.proto), backed by an
// IssueSource, with health checks and reflection. It uses the callback API: reactors never block,
// and each watcher has a thread that waits for events and for the client. A slow watcher is
// disconnected with RESOURCE_EXHAUSTED; the server buffers at most one batch per watcher. Only this
// folder includes grpcpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/base/system/access.h"
#include "services/io/capture_source.h"
#include "services/io/issue_source.h"

namespace pitwall::grpc_adapter {

struct GrpcTls {
  std::string certificate_file;  // PEM chain; reloaded when it changes
  std::string key_file;
  std::string client_ca_file;  // if not empty, clients need a certificate signed by this CA
  bool empty() const { return certificate_file.empty(); }
};

struct IssueServerOptions {
  std::string listen = "127.0.0.1:0";  // port 0 selects any free port
  // Required on non-loopback addresses: metadata "authorization: Bearer <token>".
  AccessTokens tokens;
  GrpcTls tls;
  bool reflection = true;
  size_t max_watches = 64;  // each watch uses a thread
  size_t max_watches_per_address = 16;
  // Time after which a connection without calls is closed.
  int64_t idle_timeout_ns = 300 * kNanosPerSecond;
  // Maximum time for the TLS handshake and the first bytes of HTTP/2.
  int64_t handshake_timeout_ns = 10 * kNanosPerSecond;
  size_t max_events_per_message = 256;
  int64_t bookmark_interval_ns = 10 * kNanosPerSecond;
  // Serves AskCapture and ListCaptures. If null, they return UNIMPLEMENTED. Borrowed.
  CaptureSource* captures = nullptr;
  // Time after which a client is disconnected if it does not accept messages.
  int64_t stall_limit_ns = 30 * kNanosPerSecond;
  // Maximum time that Stop waits for gRPC's own threads.
  int64_t stop_limit_ns = 10 * kNanosPerSecond;
};

class IssueServer {
 public:
  // Returns a running server. Borrows the clock and the source. Returns InvalidArgument for invalid
  // options, and Unavailable if the address is in use.
  static StatusOr<std::unique_ptr<IssueServer>> Start(Clock* clock, IssueSource* source,
                                                      IssueServerOptions options);
  virtual ~IssueServer() = default;  // stops the server
  virtual int port() const = 0;
  virtual void SetServing(bool serving) = 0;  // result of health checks; false until the first call
  // Ends watches with UNAVAILABLE and then stops the server. Returns after at most stop_limit_ns,
  // even if a call or a gRPC thread has not ended. This limit is necessary because gRPC 1.51 sleeps
  // until an absolute wall time, so it sleeps longer if the clock is set back. A call that is still
  // running may continue to use the source. Idempotent.
  virtual void Stop() = 0;
};

}  // namespace pitwall::grpc_adapter
