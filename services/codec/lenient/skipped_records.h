// Counter for the invalid records that a reader skips in one input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::lenient {

// Counts used and skipped records of one input. Not thread-safe.
class SkippedRecords {
 public:
  // `record` is the singular noun for log lines, such as "row" or "event".
  explicit SkippedRecords(std::string record) : record_(std::move(record)) {}

  // Counts a record that was used at least in part.
  void Use() { ++used_; }
  // Counts a skipped record. `error` includes the location and the cause: "run.csv:3:7: not a
  // number".
  void Skip(std::string_view error);
  // Moves a record from the used count to the skipped count.
  void SkipUsed(std::string_view error);
  // Skips the record and returns OK if the status is InvalidArgument. Returns every other status
  // unchanged, because the input cannot be read any further (limit exceeded, failing sink).
  Status SkipInvalid(const Status& status);

  // Adds the counts from another input with the same record type.
  void Add(const SkippedRecords& other);

  uint64_t skipped() const { return skipped_; }
  uint64_t used() const { return used_; }
  // Errors of the first few skipped records.
  const std::vector<std::string>& first() const { return first_; }

  // Logs the number of skipped records and the first errors, prefixed with the input's name.
  // Returns InvalidArgument with the first error if all records were skipped.
  Status Finish(std::string_view input) const;

 private:
  std::string record_;
  uint64_t used_ = 0;
  uint64_t skipped_ = 0;
  std::vector<std::string> first_;
};

}  // namespace pitwall::lenient
