// Binary form of a schema in job snapshots and history segments. Existing files have this layout,
// so never change it.
#pragma once

#include "services/base/binary.h"
#include "services/model/telemetry.h"

namespace pitwall::codec {

void SaveSchema(const Schema& schema, BinaryWriter& out);
// Restores a schema. Malformed bytes put `in` into its error state.
Schema RestoreSchema(BinaryReader& in);

}  // namespace pitwall::codec
