#include "services/adapters/http/connection_counts.h"

namespace pitwall::http {

void AddressCounts::Add(const std::string& address) {
  ++total_;
  ++of_[address];
}

void AddressCounts::Remove(const std::string& address) {
  --total_;
  const auto at = of_.find(address);
  if (--at->second == 0) of_.erase(at);
}

size_t AddressCounts::Of(const std::string& address) const {
  const auto at = of_.find(address);
  return at == of_.end() ? 0 : at->second;
}

std::optional<Refusal> ConnectionCounts::Open(const std::string& peer, bool* reserved) {
  const bool full = normal_.total() >= limits_.max_connections;
  *reserved = full || normal_.Of(peer) >= limits_.max_connections_per_address;
  if (!*reserved) {
    normal_.Add(peer);
    return std::nullopt;
  }
  if (reserved_ >= limits_.reserved_connections)
    return full ? Refusal::kConnections : Refusal::kAddressConnections;
  ++reserved_;
  return std::nullopt;
}

void ConnectionCounts::Close(const std::string& peer, bool reserved) {
  if (reserved) {
    --reserved_;
  } else {
    normal_.Remove(peer);
  }
}

bool StreamCounts::Open(const std::string& peer) {
  if (streams_.total() >= limits_.max_streams ||
      streams_.Of(peer) >= limits_.max_streams_per_address)
    return false;
  streams_.Add(peer);
  return true;
}

}  // namespace pitwall::http
