// Cache of decoded schemas. A source repeats its schema every few seconds for consumers that start
// in the middle of the log. All other consumers have already seen these bytes, and decoding them
// again would cost more than decoding all values in between. Private to this module.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/model/telemetry.h"

namespace pitwall::codec {

// Schemas by their encoded bytes. Entries in use elsewhere are kept; for these, the cache owns only
// the encoded bytes. Once the total of unused entries exceeds kMaxBytes, all of them are evicted.
// Not thread-safe.
class SchemaCache {
 public:
  static constexpr size_t kMaxBytes = 1u << 20;

  std::shared_ptr<const Schema> Find(std::string_view bytes) const;
  // Replaces any existing entry for these bytes.
  void Add(std::string_view bytes, std::shared_ptr<const Schema> schema);

 private:
  struct Entry {
    std::string bytes;
    std::weak_ptr<const Schema> schema;
    std::shared_ptr<const Schema> held;  // same object; null if owned elsewhere or expired
  };
  // Evicts the entries that are not in use elsewhere.
  void LetGo();

  absl::flat_hash_map<uint64_t, Entry> entries_;  // by hash of the bytes
  size_t bytes_ = 0;  // total size of entries added since the last eviction
};

// Splits a TelemetryRecord that contains a batch. `rest` receives the record without the batch's
// schemas, and `found` the bytes of the schemas, which point into `record`. If the record is not
// exactly one batch, returns false and leaves `found` empty. The caller then parses the whole
// record, which also yields the error.
bool TakeSchemas(std::string_view record, std::string* rest, std::vector<std::string_view>* found);

}  // namespace pitwall::codec
