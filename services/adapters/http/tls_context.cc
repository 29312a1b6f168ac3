#include "services/adapters/http/tls_context.h"

#include <sys/stat.h>

#include "services/base/log.h"
#include "services/base/text/strings.h"

namespace pitwall::http {

namespace ssl = boost::asio::ssl;

namespace {
// Ciphers for TLS 1.2 with forward secrecy and authenticated encryption. All TLS 1.3 ciphers meet
// this requirement.
constexpr char kTls12Ciphers[] = "ECDHE+AESGCM:ECDHE+CHACHA20";
}  // namespace

std::vector<int64_t> TlsContextSource::Stamps() const {
  std::vector<int64_t> stamps;
  for (const std::string* file :
       {&files_.certificate_file, &files_.key_file, &files_.client_ca_file}) {
    struct stat info {};
    if (file->empty() || stat(file->c_str(), &info) != 0) {
      stamps.push_back(0);
      continue;
    }
    stamps.push_back(info.st_mtim.tv_sec * int64_t{1'000'000'000} + info.st_mtim.tv_nsec);
    stamps.push_back(static_cast<int64_t>(info.st_ino));
  }
  return stamps;
}

StatusOr<std::shared_ptr<ssl::context>> TlsContextSource::Load() const {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  boost::system::error_code error;
  const auto fail = [&](std::string_view file) {
    return InvalidArgument(Cat(file, ": ", error.message()));
  };
  context->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                           ssl::context::no_sslv3 | ssl::context::no_tlsv1 |
                           ssl::context::no_tlsv1_1,
                       error);
  // Allows only ciphers with forward secrecy and authenticated encryption, not RSA key exchange or
  // CBC.
  if (SSL_CTX_set_cipher_list(context->native_handle(), kTls12Ciphers) != 1)
    return Internal("OpenSSL supports none of the required ciphers");
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                                    SSL_OP_CIPHER_SERVER_PREFERENCE);
  context->use_certificate_chain_file(files_.certificate_file, error);
  if (error) return fail(files_.certificate_file);
  context->use_private_key_file(files_.key_file, ssl::context::pem, error);
  if (error) return fail(files_.key_file);
  if (!files_.client_ca_file.empty()) {
    context->load_verify_file(files_.client_ca_file, error);
    if (error) return fail(files_.client_ca_file);
    context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
    if (error) return fail(files_.client_ca_file);
  }
  return context;
}

StatusOr<TlsContextSource> TlsContextSource::Make(TlsFiles files) {
  TlsContextSource source(std::move(files));
  source.stamps_ = source.Stamps();
  ASSIGN_OR_RETURN(source.context_, source.Load());
  return source;
}

std::shared_ptr<ssl::context> TlsContextSource::Current() {
  std::vector<int64_t> stamps = Stamps();
  if (stamps != stamps_) {
    stamps_ = std::move(stamps);
    StatusOr<std::shared_ptr<ssl::context>> fresh = Load();
    if (fresh.ok()) {
      context_ = *std::move(fresh);
    } else {
      PITWALL_LOG(kWarning, "http", "cannot load the new certificate, keeping the old one: ",
                  ToStd(fresh.status().message()));
    }
  }
  return context_;
}

}  // namespace pitwall::http
