// Per-owner usage of connections and message memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace pitwall::collector {

// Counts connections and the bytes in incomplete messages. Each owner may use a quarter of the
// message memory, or enough for one message if that is more. Used only by the server's thread.
class ClientUsage {
 public:
  // `max_buffered_bytes` limits the total size of all incomplete messages. `message_bytes` is the
  // maximum size of a message.
  ClientUsage(size_t max_buffered_bytes, size_t message_bytes);

  // Adds or removes a connection of the owner. A removed connection must have no buffered bytes.
  void Connect(const std::string& owner) { ++owners_[owner].clients; }
  void Disconnect(const std::string& owner);
  size_t Clients(const std::string& owner) const;

  // Adds `bytes`, which may be negative, to the buffered bytes of a connected owner.
  void Buffer(const std::string& owner, int64_t bytes);
  bool ExceedsShare(const std::string& owner) const;
  bool ExceedsTotal() const { return buffered_ > max_buffered_; }
  // Returns the owner with the most buffered bytes. At least one owner must be connected.
  const std::string& Largest() const;

  // Forgets all owners.
  void Clear();

 private:
  // An owner without an entry uses no resources.
  struct Usage {
    size_t clients = 0;
    size_t buffered = 0;
  };

  const size_t max_buffered_;
  const size_t share_;
  size_t buffered_ = 0;
  std::map<std::string, Usage, std::less<>> owners_;
};

}  // namespace pitwall::collector
