// A TCP listener that hands its connections to a gRPC server.
//
// gRPC's own listener stops for good when accept fails, as it does without a free descriptor, while
// the server looks healthy (seen in 1.51).
#pragma once

#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <thread>

#include "services/base/status.h"

namespace pitwall::grpc_adapter {

// Accepts connections in a thread of its own. While the process is out of descriptors or memory it
// closes each waiting connection, so that clients see an error at once, and resumes by itself.
// Create, Start and Stop from one thread.
class ConnectionListener {
 public:
  using Acceptor = ::grpc::experimental::ExternalConnectionAcceptor;

  // Binds and listens. `listen`: as ParseListenAddress. Unavailable: the address is taken.
  // ResourceExhausted: no descriptor is free.
  static StatusOr<std::unique_ptr<ConnectionListener>> Open(const std::string& listen);
  ~ConnectionListener();
  ConnectionListener(const ConnectionListener&) = delete;
  ConnectionListener& operator=(const ConnectionListener&) = delete;

  int port() const { return port_; }
  // The server behind `acceptor` runs.
  void Start(std::unique_ptr<Acceptor> acceptor);
  void Stop();  // idempotent

 private:
  ConnectionListener() = default;
  Status Bind(const std::string& listen);
  void Loop();
  // False: there is nothing to accept now.
  bool AcceptOne();
  void Shed();

  int listener_ = -1;
  int stop_ = -1;   // an eventfd
  int spare_ = -1;  // closed to accept and close a connection while no other descriptor is free
  int port_ = 0;
  std::unique_ptr<Acceptor> acceptor_;
  std::thread thread_;
};

}  // namespace pitwall::grpc_adapter
