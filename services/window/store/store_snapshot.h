// Snapshot of a store.
#pragma once

#include <memory>

#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/model/windows/demand.h"
#include "services/window/store/series_store.h"

namespace pitwall::window {

// Writer and reader for the bytes that represent a SeriesStore. Not thread-safe: no other call to
// the store may run at the same time.
class StoreSnapshot {
 public:
  // Saves everything except plans, including open rows.
  static void Save(const SeriesStore& store, BinaryWriter& out);
  // `demands` must equal the saved demands. Returns InvalidArgument if they differ, and DataLoss
  // for damaged bytes. The restored store returns bit-identical results for all later calls.
  static StatusOr<std::unique_ptr<SeriesStore>> Restore(BinaryReader& in,
                                                        std::shared_ptr<const DemandSet> demands,
                                                        Limits limits);

 private:
  static Status Load(BinaryReader& in, SeriesStore::State& state);
};

}  // namespace pitwall::window
