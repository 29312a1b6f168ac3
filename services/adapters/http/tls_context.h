// TLS context for the server, reloaded when its files change.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/adapters/http/http_server.h"
#include "services/base/status.h"

namespace pitwall::http {

// Not thread-safe: used only on the I/O thread.
class TlsContextSource {
 public:
  // Returns InvalidArgument if a file is missing, or if the certificate and key are invalid or do
  // not match.
  static StatusOr<TlsContextSource> Make(TlsFiles files);
  // Returns the context for a new connection. If changed files cannot be loaded, keeps the old
  // context and logs one warning per change.
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
