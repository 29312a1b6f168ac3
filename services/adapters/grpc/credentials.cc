#include "services/adapters/grpc/credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <sstream>

#include "services/base/text/strings.h"

namespace pitwall::grpc_adapter {
namespace {

constexpr unsigned kRefreshSeconds = 10;

StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return InvalidArgument(Cat("cannot read ", path));
  return text.str();
}

// Allows only cipher suites with forward secrecy and authenticated encryption. gRPC reads this
// environment variable once.
constexpr char kCiphers[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:"
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

void SetCiphers() {
  static std::once_flag once;
  std::call_once(once, [] { ::setenv("GRPC_SSL_CIPHER_SUITES", kCiphers, 1); });
}

}  // namespace

StatusOr<std::shared_ptr<::grpc::ServerCredentials>> MakeServerCredentials(const GrpcTls& tls) {
  if (tls.empty()) return ::grpc::InsecureServerCredentials();
  SetCiphers();
  RETURN_IF_ERROR(ReadFile(tls.certificate_file).status());
  RETURN_IF_ERROR(ReadFile(tls.key_file).status());
  namespace experimental = ::grpc::experimental;
  std::shared_ptr<experimental::FileWatcherCertificateProvider> provider;
  if (tls.client_ca_file.empty()) {
    provider = std::make_shared<experimental::FileWatcherCertificateProvider>(
        tls.key_file, tls.certificate_file, kRefreshSeconds);
  } else {
    RETURN_IF_ERROR(ReadFile(tls.client_ca_file).status());
    provider = std::make_shared<experimental::FileWatcherCertificateProvider>(
        tls.key_file, tls.certificate_file, tls.client_ca_file, kRefreshSeconds);
  }
  experimental::TlsServerCredentialsOptions options(provider);
  options.watch_identity_key_cert_pairs();
  if (!tls.client_ca_file.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return experimental::TlsServerCredentials(options);
}

StatusOr<std::shared_ptr<::grpc::ChannelCredentials>> MakeChannelCredentials(
    const IssueClientOptions& options) {
  if (!options.tls) return ::grpc::InsecureChannelCredentials();
  SetCiphers();
  ::grpc::SslCredentialsOptions ssl;
  if (!options.ca_file.empty()) {
    ASSIGN_OR_RETURN(ssl.pem_root_certs, ReadFile(options.ca_file));
  }
  if (!options.certificate_file.empty()) {
    ASSIGN_OR_RETURN(ssl.pem_cert_chain, ReadFile(options.certificate_file));
    ASSIGN_OR_RETURN(ssl.pem_private_key, ReadFile(options.key_file));
  }
  return ::grpc::SslCredentials(ssl);
}

::grpc::Status CheckRole(std::string_view authorization, const AccessTokens& tokens, Role needed) {
  const Role role = RoleOfAuthorization(tokens, authorization);
  if (role >= needed) return ::grpc::Status::OK;
  if (needed == Role::kView && tokens.view.empty()) return ::grpc::Status::OK;
  if (needed == Role::kAct && tokens.act.empty()) {
    return {
        ::grpc::StatusCode::PERMISSION_DENIED,
        "a token with the role act is required, but none is configured; set grpc.act_token_file"};
  }
  if (role != Role::kNone)
    return {::grpc::StatusCode::PERMISSION_DENIED, "a token with the role act is required"};
  return {::grpc::StatusCode::UNAUTHENTICATED,
          "a token is required; send authorization: Bearer <token>"};
}

::grpc::Status CheckRole(const ::grpc::ServerContextBase& context, const AccessTokens& tokens,
                         Role needed) {
  const auto& metadata = context.client_metadata();
  const auto at = metadata.find("authorization");
  return CheckRole(at == metadata.end() ? std::string_view()
                                        : std::string_view(at->second.data(), at->second.size()),
                   tokens, needed);
}

::grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return ::grpc::Status::OK;
  return {static_cast<::grpc::StatusCode>(status.code()), std::string(ToStd(status.message()))};
}

Status FromGrpc(const ::grpc::Status& status) {
  if (status.ok()) return OkStatus();
  return Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace pitwall::grpc_adapter
