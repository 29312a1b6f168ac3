// Schemas that were decoded before. A source repeats its schema every few seconds, so that whoever
// begins to read in the middle learns it; to everybody else it is the same bytes again, and
// decoding them would cost more than all values between. Private to this module.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/model/telemetry.h"

namespace pitwall::codec {

// By their bytes. Those that others hold stay known, and cost their bytes alone; of those that
// nobody else holds as many stay as have kMaxBytes together: beyond that all of them are forgotten.
// Not thread-safe.
class SchemaCache {
 public:
  static constexpr size_t kMaxBytes = 1u << 20;

  std::shared_ptr<const Schema> Find(std::string_view bytes) const;
  // In the place of what is known by these bytes, if anything is.
  void Add(std::string_view bytes, std::shared_ptr<const Schema> schema);

 private:
  struct Entry {
    std::string bytes;
    std::weak_ptr<const Schema> schema;
    std::shared_ptr<const Schema> held;  // the same; null: others hold it, or did
  };
  // Only what others hold stays.
  void LetGo();

  absl::flat_hash_map<uint64_t, Entry> entries_;  // by a hash of the bytes
  size_t bytes_ = 0;                              // of those that were added since
};

// Splits a TelemetryRecord with a batch: `rest` gets the record without the batch's schemas,
// `found` their bytes, which are parts of `record`. False, with `found` empty, where the record is
// anything else than one batch: it should be parsed as it is (to say what is wrong with it, for
// one).
bool TakeSchemas(std::string_view record, std::string* rest, std::vector<std::string_view>* found);

}  // namespace pitwall::codec
