// TCP listener that passes its connections to a gRPC server.
//
// gRPC's own listener stops permanently when accept fails, for example because no file descriptor
// is available, but the server still appears healthy (observed in version 1.51).
#pragma once

#include <grpcpp/server_builder.h>

#include <memory>
#include <string>

#include "services/base/status.h"
#include "services/base/system/worker.h"

namespace pitwall::grpc_adapter {

// Accepts connections on its own thread. If the process is out of descriptors or memory, the
// listener closes each waiting connection so that clients get an error immediately. It resumes
// automatically. Create, Start, and Stop must be called from one thread.
class ConnectionListener {
 public:
  using Acceptor = ::grpc::experimental::ExternalConnectionAcceptor;

  // Binds and listens. `listen` has the syntax of ParseListenAddress. Returns Unavailable if the
  // address is in use, and ResourceExhausted if no file descriptor is available.
  static StatusOr<std::unique_ptr<ConnectionListener>> Open(const std::string& listen);
  ~ConnectionListener();
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;

  int port() const { return port_; }
  // The server that owns `acceptor` must be running.
  void Start(std::unique_ptr<Acceptor> acceptor);
  void Stop();  // idempotent

 private:
  ConnectionListener();
  Status Bind(const std::string& listen);
  void Loop();
  // Returns false if there is no connection to accept.
  bool AcceptOne();
  void Shed();

  int listener_ = -1;
  int stop_ = -1;   // an eventfd
  int spare_ = -1;  // spare descriptor: closed to accept and close a connection
  int port_ = 0;
  std::unique_ptr<Acceptor> acceptor_;
  Worker worker_{nullptr, "grpc-listener"};
};

}  // namespace pitwall::grpc_adapter
