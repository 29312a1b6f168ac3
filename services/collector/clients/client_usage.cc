#include "services/collector/clients/client_usage.h"

#include <algorithm>

namespace pitwall::collector {
namespace {

constexpr size_t kShares = 4;  // each owner may use at most a quarter of the message memory

}  // namespace

ClientUsage::ClientUsage(size_t max_buffered_bytes, size_t message_bytes)
    : max_buffered_(max_buffered_bytes),
      share_(std::max(max_buffered_bytes / kShares, std::min(max_buffered_bytes, message_bytes))) {}

void ClientUsage::Disconnect(const std::string& owner) {
  if (const auto used = owners_.find(owner); --used->second.clients == 0) owners_.erase(used);
}

size_t ClientUsage::Clients(const std::string& owner) const {
  const auto used = owners_.find(owner);
  return used == owners_.end() ? 0 : used->second.clients;
}

void ClientUsage::Buffer(const std::string& owner, int64_t bytes) {
  buffered_ += static_cast<size_t>(bytes);
  owners_[owner].buffered += static_cast<size_t>(bytes);
}

bool ClientUsage::ExceedsShare(const std::string& owner) const {
  const auto used = owners_.find(owner);
  return used != owners_.end() && used->second.buffered > share_;
}

const std::string& ClientUsage::Largest() const {
  return std::max_element(
             owners_.begin(), owners_.end(),
             [](const auto& a, const auto& b) { return a.second.buffered < b.second.buffered; })
      ->first;
}

void ClientUsage::Clear() {
  owners_.clear();
  buffered_ = 0;
}

}  // namespace pitwall::collector
