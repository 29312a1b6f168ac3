#include "services/history/series_table.h"

#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "services/model/labels.h"

namespace pitwall::history {
namespace {

// Labels of a series, except for the labels that distinguish peers.
struct PeerLabels {
  const Labels* labels;
  static bool IsPeerLabel(std::string_view name) {
    return name == "cpu" || name == "gpu" || name == "node" || name == "rank";
  }
  friend bool operator==(const PeerLabels& a, const PeerLabels& b) {
    auto x = a.labels->begin(), y = b.labels->begin();
    for (;; ++x, ++y) {
      while (x != a.labels->end() && IsPeerLabel(x->name)) ++x;
      while (y != b.labels->end() && IsPeerLabel(y->name)) ++y;
      if (x == a.labels->end() || y == b.labels->end())
        return x == a.labels->end() && y == b.labels->end();
      if (*x != *y) return false;
    }
  }
  template <typename H>
  friend H AbslHashValue(H h, const PeerLabels& peer) {
    for (const Label& label : *peer.labels) {
      if (!IsPeerLabel(label.name)) h = H::combine(std::move(h), label.name, label.value);
    }
    return h;
  }
};

}  // namespace

SeriesTablePtr MakeSeriesTable(std::vector<SeriesDescriptor> series) {
  auto out = std::make_shared<SeriesTable>();
  out->series = std::move(series);
  out->groups.reserve(out->series.size());
  absl::flat_hash_map<PeerLabels, uint32_t> known;
  for (const SeriesDescriptor& one : out->series)
    out->groups.push_back(known.try_emplace(PeerLabels{&one.labels}, known.size()).first->second);
  out->group_count = static_cast<uint32_t>(known.size());
  return out;
}

}  // namespace pitwall::history
