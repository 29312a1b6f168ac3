#include "services/codec/imports/series_index.h"

#include "services/base/text/strings.h"

namespace pitwall::imports {

StatusOr<uint32_t> SeriesIndex::Find(const Labels& labels, std::string_view mode) {
  const auto [it, added] = series_.try_emplace(std::pair(labels, std::string(mode)),
                                               static_cast<uint32_t>(series_.size()));
  if (!added) return it->second;
  if (series_.size() > kMaxSeries)
    return ResourceExhausted(Cat("too many series (limit ", kMaxSeries, ")"));
  RETURN_IF_ERROR(sink_->NewSeries(it->second, labels, mode));
  return it->second;
}

}  // namespace pitwall::imports
