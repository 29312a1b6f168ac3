// Count of the records of one input that a reader skipped because they are invalid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::lenient {

// Not thread-safe.
class SkippedRecords {
 public:
  // `record` is the singular noun of log lines: "row", "event".
  explicit SkippedRecords(std::string record) : record_(std::move(record)) {}

  // Counts a record that was used, if only in part.
  void Use() { ++used_; }
  // Counts a skipped record. `error` has its place and the cause: "run.csv:3:7: not a number".
  void Skip(std::string_view error);
  // Skips a record that was counted as used.
  void SkipUsed(std::string_view error);
  // Skips the record if its error is InvalidArgument, and returns OK; returns every other status
  // unchanged, since the input cannot be read further (a limit, a failing sink).
  Status SkipInvalid(const Status& status);

  // Adds the counts of another input of the same kind.
  void Add(const SkippedRecords& other);

  uint64_t skipped() const { return skipped_; }
  uint64_t used() const { return used_; }
  // Errors of the first few skipped records.
  const std::vector<std::string>& first() const { return first_; }

  // Logs the number of skipped records and the first of them under the name of the input. Returns
  // InvalidArgument with the first error if records were skipped and none was used.
  Status Finish(std::string_view input) const;

 private:
  std::string record_;
  uint64_t used_ = 0;
  uint64_t skipped_ = 0;
  std::vector<std::string> first_;
};

}  // namespace pitwall::lenient
