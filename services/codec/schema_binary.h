// A schema as bytes: in snapshots of jobs and in segments of the history. The layout is in files:
// never change it.
#pragma once

#include "services/base/binary.h"
#include "services/model/telemetry.h"

namespace pitwall::codec {

void SaveSchema(const Schema& schema, BinaryWriter& out);
// What is malformed shows in `in`.
Schema RestoreSchema(BinaryReader& in);
// Past one, without making it.
void SkipSchema(BinaryReader& in);

}  // namespace pitwall::codec
