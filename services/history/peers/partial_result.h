// Peers missing from an answer, collected by the thread that computes it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace pitwall::history {

// While an instance exists, missing peers noted in its thread go to it.
class PartialResult {
 public:
  PartialResult();
  ~PartialResult();
  PartialResult(const PartialResult&) = delete;
  PartialResult& operator=(const PartialResult&) = delete;

  static void Note(int index, std::string why);
  bool empty() const { return missing_.empty(); }
  // "jobs of peer 1 are missing: …"
  std::vector<std::string> Texts() const;

 private:
  PartialResult* const outer_;
  std::map<int, std::string> missing_;
};

}  // namespace pitwall::history
