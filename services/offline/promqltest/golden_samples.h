// Samples that a golden script has loaded: series for RunQuery, and those with values that the
// engine does not support.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/offline/promqltest/golden_script.h"
#include "services/offline/query.h"

namespace pitwall::offline {

class GoldenSamples {
 public:
  // Adds to what is there. InvalidArgument, with the line: a sample that is older than the last one
  // of its series, or another value at the same time.
  Status Load(const LoadCommand& load);
  void Clear();

  // Those with floats.
  const std::vector<QuerySeries>& series() const { return series_; }

  struct Touched {
    bool native_histograms = false;
    bool start_timestamps = false;
  };
  // What the selectors of an expression match. Nothing where it cannot be parsed.
  Touched TouchedBy(const std::string& expr) const;

 private:
  std::vector<QuerySeries> series_;
  std::map<Labels, size_t> index_;
  std::map<Labels, Touched> traits_;  // of series with any
};

}  // namespace pitwall::offline
