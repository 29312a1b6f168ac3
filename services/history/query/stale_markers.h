// Detects where series end. A series ends if its source sent a goodbye, was silent for so long that
// the engine ended its series, or dropped the series in the stream's next schema (time-model.md,
// sections 1.6 and 2.2).
#pragma once

#include <vector>

#include "services/history/history.h"
#include "services/history/store/history_store.h"
#include "services/history/windows/series_set.h"

namespace pitwall::history {

// Adds a stale marker to each column wherever its series ends within the query's range. `columns`
// must be sorted by labels. `set` is the query's set.
Status AddStaleMarkers(const HistoryStore& store, const StoredJob& job, const SampleQuery& query,
                       SeriesSet* set, std::vector<SampleColumn>* columns);

}  // namespace pitwall::history
