#include "services/model/telemetry.h"

#include "services/base/binary.h"
#include "services/base/text/stable_hash.h"

namespace pitwall {

uint64_t SchemaId(uint32_t stream, std::span<const SeriesDescriptor> series) {
  BinaryWriter bytes;
  bytes.U64(stream);
  for (const SeriesDescriptor& descriptor : series) {
    bytes.U8(static_cast<uint8_t>(descriptor.kind));
    bytes.U64(descriptor.labels.size());
    for (const Label& label : descriptor.labels) {
      bytes.Str(label.name);
      bytes.Str(label.value);
    }
  }
  return StableHash64(bytes.data());
}

}  // namespace pitwall
