// Peers that are missing from a response. The thread that computes the response collects them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace pitwall::history {

// While an instance exists, it collects the missing peers that are reported on its thread.
class PartialResult {
 public:
  PartialResult();
  ~PartialResult();
  PartialResult(const PartialResult&) = delete;
  PartialResult& operator=(const PartialResult&) = delete;

  static void Note(int index, std::string why);
  bool empty() const { return missing_.empty(); }
  // Returns one message per missing peer, such as "jobs of peer 1 are missing: …".
  std::vector<std::string> Texts() const;

 private:
  PartialResult* const outer_;
  std::map<int, std::string> missing_;
};

}  // namespace pitwall::history
