// Counts and limits for open connections and streams. Private to this folder.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "services/adapters/http/connection/http_limits.h"

namespace pitwall::http {

// Number of items in total and per address. Only addresses with items have an entry.
class AddressCounts {
 public:
  void Add(const std::string& address);
  void Remove(const std::string& address);
  size_t Of(const std::string& address) const;
  size_t total() const { return total_; }

 private:
  size_t total_ = 0;
  std::map<std::string, size_t> of_;
};

// Open connections. A connection that exceeds the limits takes a reserved slot. Used only on the
// I/O thread.
class ConnectionCounts {
 public:
  explicit ConnectionCounts(const HttpLimits& limits) : limits_(limits) {}

  // Counts a new connection and sets *reserved if it takes a reserved slot. Returns the reason if
  // the connection is rejected; otherwise, the caller must later call Close with the same
  // arguments.
  std::optional<Refusal> Open(const std::string& peer, bool* reserved);
  void Close(const std::string& peer, bool reserved);
  bool empty() const { return normal_.total() + reserved_ == 0; }

 private:
  const HttpLimits& limits_;
  AddressCounts normal_;
  size_t reserved_ = 0;
};

// Open streams. Used only on the I/O thread.
class StreamCounts {
 public:
  explicit StreamCounts(const HttpLimits& limits) : limits_(limits) {}

  // Counts a new stream. Returns false if there are too many streams; otherwise, the caller must
  // later call Close.
  bool Open(const std::string& peer);
  void Close(const std::string& peer) { streams_.Remove(peer); }

 private:
  const HttpLimits& limits_;
  AddressCounts streams_;
};

}  // namespace pitwall::http
