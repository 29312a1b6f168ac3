#include "services/insights/peers/missing_peers.h"

#include <utility>

#include "services/base/text/strings.h"

namespace pitwall::insights {
namespace {

thread_local MissingPeers* innermost = nullptr;

}  // namespace

MissingPeers::MissingPeers() : outer_(std::exchange(innermost, this)) {}
MissingPeers::~MissingPeers() { innermost = outer_; }

void MissingPeers::Note(int index, std::string why) {
  if (innermost != nullptr) innermost->missing_.insert_or_assign(index, std::move(why));
}

std::vector<std::string> MissingPeers::Texts() const {
  std::vector<std::string> out;
  for (const auto& [index, why] : missing_)
    out.push_back(Cat("jobs of peer ", index, " are missing: ", why));
  return out;
}

}  // namespace pitwall::insights
