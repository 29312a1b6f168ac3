// Fuzzes a snapshot chunk and a rule set.
#include <cstdint>
#include <string_view>

#include "services/base/check.h"
#include "services/codec/rule_set_codec.h"
#include "services/codec/snapshot_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace pitwall::codec;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  SnapshotLimits limits;
  limits.uncompressed_bytes = 1u << 20;  // limits the memory that claimed sizes can allocate
  limits.pending_snapshots = 16;
  SnapshotAssembler assembler(limits);
  const auto once = assembler.Add(bytes);
  PITWALL_CHECK(once.ok() || !once.status().message().empty());
  if (once.ok() && once->has_value()) (void)UnpackSnapshot(**once);
  // Adds the same bytes again, and then only their second half. No state may break the decoder.
  (void)assembler.Add(bytes);
  (void)assembler.Add(bytes.substr(size / 2));
  PITWALL_CHECK(assembler.Incomplete().size() <= 2);
  if (const auto rules = DecodeRuleSet(bytes); rules.ok()) {
    const auto again = DecodeRuleSet(EncodeRuleSet(*rules));
    PITWALL_CHECK(again.ok() && *again == *rules);
  }
  if (const auto set = DecodeJobParameters(bytes); set.ok()) {
    const auto again = DecodeJobParameters(EncodeJobParameters(*set));
    PITWALL_CHECK(again.ok() && *again == *set);
  }
  return 0;
}
