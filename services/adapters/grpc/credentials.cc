#include "services/adapters/grpc/credentials.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <fstream>
#include <sstream>

#include "services/base/strings.h"

namespace pitwall::grpc_adapter {
namespace {

constexpr unsigned kRefreshSeconds = 10;

StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return InvalidArgument(Cat("cannot read ", path));
  return text.str();
}

bool SameSecret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

StatusOr<std::shared_ptr<::grpc::ServerCredentials>> MakeServerCredentials(const GrpcTls& tls) {
  if (tls.empty()) return ::grpc::InsecureServerCredentials();
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

::grpc::Status CheckToken(const ::grpc::ServerContextBase& context, const std::string& token) {
  if (token.empty()) return ::grpc::Status::OK;
  const auto& metadata = context.client_metadata();
  const auto at = metadata.find("authorization");
  const std::string wanted = Cat("Bearer ", token);
  if (at != metadata.end() &&
      SameSecret(std::string_view(at->second.data(), at->second.size()), wanted)) {
    return ::grpc::Status::OK;
  }
  return {::grpc::StatusCode::UNAUTHENTICATED, "a token is needed: authorization: Bearer <token>"};
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
