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

// OK when the call may do what needs the role; UNAUTHENTICATED without a token of ours,
// PERMISSION_DENIED with the token of a lesser role. Without a view token everybody may view (the
// server listens on loopback then), and nobody acts without an act token.
::grpc::Status CheckRole(std::string_view authorization, const AccessTokens& tokens, Role needed);
::grpc::Status CheckRole(const ::grpc::ServerContextBase& context, const AccessTokens& tokens,
                         Role needed);

// The codes have the same numbers on both sides.
::grpc::Status ToGrpc(const Status& status);
Status FromGrpc(const ::grpc::Status& status);

}  // namespace pitwall::grpc_adapter
