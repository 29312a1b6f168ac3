// The server's TLS context, read again when its files change.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/base/status.h"

namespace pitwall::http {

// Not thread-safe: for the I/O thread.
class TlsContextSource {
 public:
  // InvalidArgument when the files are missing or no certificate and key that fit.
  static StatusOr<TlsContextSource> Make(TlsFiles files);
  // The context for a new connection. When the files changed and cannot be read, the old one stays
  // and a warning is logged once per change.
  std::shared_ptr<boost::asio::ssl::context> Current();

 private:
  explicit TlsContextSource(TlsFiles files) : files_(std::move(files)) {}
  std::vector<int64_t> Stamps() const;
  StatusOr<std::shared_ptr<boost::asio::ssl::context>> Load() const;

  TlsFiles files_;
  std::vector<int64_t> stamps_;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace pitwall::http
