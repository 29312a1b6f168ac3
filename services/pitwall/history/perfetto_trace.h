// Spans as a Perfetto trace: protobuf packets with TrackEvents, which ui.perfetto.dev opens.
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

// A track group for each rank (or source without one), in it a track for steps, phases and
// operators. Spans that overlap without nesting get further tracks of their kind, since a track of
// Perfetto nests. Times are nanoseconds since 1970. Not thread-safe.
class PerfettoTrace {
 public:
  // `rank`: -1 for none. An end before the start counts as the start.
  void Add(std::string_view source, std::string_view node, int64_t rank, const Span& span);

  size_t spans() const { return slices_; }
  size_t groups() const { return groups_.size(); }
  // The whole file. The same spans give the same bytes, in whatever order they were added.
  std::string Bytes() const;

 private:
  struct Slice {
    int64_t start_ns;
    int64_t end_ns;
    uint32_t name;  // of names_
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
  std::map<std::tuple<int64_t, std::string>, Group> groups_;  // by rank, source
};

}  // namespace pitwall::history_client
