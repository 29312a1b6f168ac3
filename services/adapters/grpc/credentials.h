// Credentials, tokens, and status codes for gRPC. Private to this folder.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "services/adapters/grpc/issue_client.h"
#include "services/adapters/grpc/issue_server.h"
#include "services/base/status.h"

namespace pitwall::grpc_adapter {

// Returns InvalidArgument if a file cannot be read.
StatusOr<std::shared_ptr<::grpc::ServerCredentials>> MakeServerCredentials(const GrpcTls& tls);
StatusOr<std::shared_ptr<::grpc::ChannelCredentials>> MakeChannelCredentials(
    const IssueClientOptions& options);

// Returns OK if the call has the role, UNAUTHENTICATED if it has no valid token, and
// PERMISSION_DENIED if the token's role is insufficient. Without a view token, every client may
// view (the server then listens only on loopback). Without an act token, no client may act.
::grpc::Status CheckRole(std::string_view authorization, const AccessTokens& tokens, Role needed);
::grpc::Status CheckRole(const ::grpc::ServerContextBase& context, const AccessTokens& tokens,
                         Role needed);

// Converts a status. The codes have the same numbers on both sides.
::grpc::Status ToGrpc(const Status& status);
Status FromGrpc(const ::grpc::Status& status);

}  // namespace pitwall::grpc_adapter
