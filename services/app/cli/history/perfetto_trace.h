// Encoder for spans in the Perfetto trace format: protobuf packets with TrackEvents, for
// ui.perfetto.dev.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/text/strings.h"
#include "services/model/telemetry.h"

namespace pitwall::history_client {

// Trace with one track group per rank (or per source, if the source has no rank). Each group has
// tracks for steps, phases, and operators. Slices on a Perfetto track must nest, so spans that
// overlap without nesting are placed on additional tracks. Times are in nanoseconds since 1970.
// Not thread-safe.
class PerfettoTrace {
 public:
  // Adds a span. `rank` is -1 if the source has no rank. If the end precedes the start, it is set
  // to the start.
  void Add(std::string_view source, std::string_view node, int64_t rank, const Span& span);

  size_t spans() const { return slices_; }
  size_t groups() const { return groups_.size(); }
  // Returns the contents of the trace file. The result does not depend on the order in which spans
  // were added.
  std::string Bytes() const;

 private:
  struct Slice {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t name;  // index in names_
    int64_t step;
  };
  struct Group {
    std::string title;
    std::map<Span::Kind, std::vector<Slice>> slices;
  };
  uint32_t NameOf(std::string_view name);

  size_t slices_ = 0;
  std::vector<std::string> names_;
  StringMap<uint32_t> name_ids_;
  std::map<std::tuple<int64_t, std::string>, Group> groups_;  // by rank and source
};

}  // namespace pitwall::history_client
