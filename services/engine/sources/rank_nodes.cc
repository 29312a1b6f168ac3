#include "services/engine/sources/rank_nodes.h"

#include <utility>

namespace pitwall::engine {

StringMap<std::string> NodesOfRanks(const SourceMap& sources) {
  StringMap<std::string> nodes;
  const auto take = [&](std::string_view rank, std::string_view node) {
    const auto [at, fresh] = nodes.try_emplace(std::string(rank), node);
    if (!fresh && at->second != node) at->second.clear();
  };
  // Series that a collector samples for a rank's process have both labels, even if they were
  // imported from files.
  for (const auto& [key, source] : sources) {
    for (const auto& [id, binding] : source->schemas) {
      for (const SeriesDescriptor& series : binding->schema.series) {
        const std::string_view rank = series.labels.Get("rank");
        const std::string_view node = series.labels.Get("node");
        if (!rank.empty() && !node.empty()) take(rank, node);
      }
    }
  }
  StringMap<EventTime> started;
  for (const auto& [key, source] : sources) {
    const SourceInfo& info = source->info;
    if (info.kind != SourceKind::kRank || info.node.empty()) continue;
    std::string rank = Cat(info.rank);
    const auto [at, fresh] = started.try_emplace(rank, source->start());
    if (!fresh && at->second >= source->start()) continue;
    at->second = source->start();
    nodes[std::move(rank)] = info.node;
  }
  return nodes;
}

}  // namespace pitwall::engine
