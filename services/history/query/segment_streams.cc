#include "services/history/query/segment_streams.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace pitwall::history {

size_t SegmentStreams::bytes() const {
  return sizeof(*this) + tables.capacity() * sizeof(RowsTable) +
         (numbers.capacity() + ends.capacity()) * sizeof(size_t) +
         beats.capacity() * sizeof(HeartbeatRun);
}

StatusOr<SegmentStreamsPtr> StreamsOf(const HistoryStore& store, const SegmentMeta& facts) {
  const SegmentCache::Key key = SegmentCache::StreamsKey(facts.generation);
  if (auto found = store.segments().cache().Find<SegmentStreams>(key); found != nullptr)
    return found;
  ASSIGN_OR_RETURN(const std::shared_ptr<const WindowSegment> segment,
                   store.segments().Open(facts));
  const auto out = std::make_shared<SegmentStreams>();
  std::vector<RowsTable> tables = segment->rows().Descriptions();
  absl::flat_hash_map<std::pair<const Origin*, uint32_t>, std::vector<size_t>> streams;
  for (size_t i = 0; i < tables.size(); ++i)
    streams[{tables[i].origin.get(), tables[i].schema->stream}].push_back(i);
  out->tables.reserve(tables.size());
  out->numbers.reserve(tables.size());
  out->ends.reserve(streams.size());
  for (size_t i = 0; i < tables.size(); ++i) {
    const std::vector<size_t>& stream = streams[{tables[i].origin.get(), tables[i].schema->stream}];
    if (stream.front() != i) continue;
    for (const size_t table : stream) out->tables.push_back(tables[table]);
    out->numbers.insert(out->numbers.end(), stream.begin(), stream.end());
    out->ends.push_back(out->tables.size());
  }
  RETURN_IF_ERROR(segment->ReadHeartbeatRuns(&out->beats));
  out->beats.shrink_to_fit();
  store.segments().cache().Put(key, out, out->bytes());
  return SegmentStreamsPtr(out);
}

}  // namespace pitwall::history
