// Credentials, tokens and status codes of gRPC. Private to this folder.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "services/adapters/grpc/issue_client.h"
#include "services/adapters/grpc/issue_server.h"
#include "services/base/status.h"

namespace pitwall::grpc_adapter {

// InvalidArgument when a file cannot be read.
StatusOr<std::shared_ptr<::grpc::ServerCredentials>> MakeServerCredentials(const GrpcTls& tls);
StatusOr<std::shared_ptr<::grpc::ChannelCredentials>> MakeChannelCredentials(
    const IssueClientOptions& options);

// OK when no token is wanted or the call shows it; UNAUTHENTICATED otherwise.
::grpc::Status CheckToken(const ::grpc::ServerContextBase& context, const std::string& token);

// The codes have the same numbers on both sides.
::grpc::Status ToGrpc(const Status& status);
Status FromGrpc(const ::grpc::Status& status);

}  // namespace pitwall::grpc_adapter
