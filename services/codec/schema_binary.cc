#include "services/codec/schema_binary.h"

#include <utility>
#include <vector>

namespace pitwall::codec {

void SaveSchema(const Schema& schema, BinaryWriter& out) {
  out.U64(schema.id);
  out.U64(schema.stream);
  out.U64(schema.series.size());
  for (const SeriesDescriptor& series : schema.series) {
    out.U8(static_cast<uint8_t>(series.kind));
    out.U64(series.labels.size());
    for (const Label& label : series.labels) {
      out.Str(label.name);
      out.Str(label.value);
    }
  }
}

Schema RestoreSchema(BinaryReader& in) {
  Schema schema;
  schema.id = in.U64();
  schema.stream = static_cast<uint32_t>(in.U64());
  schema.series.resize(in.Count(2));
  for (SeriesDescriptor& series : schema.series) {
    series.kind = static_cast<SeriesKind>(in.U8());
    std::vector<Label> labels(in.Count(2));
    for (Label& label : labels) {
      label.name = in.Str();
      label.value = in.Str();
    }
    series.labels = Labels::FromPairs(std::move(labels));
  }
  return schema;
}

}  // namespace pitwall::codec
