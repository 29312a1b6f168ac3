// Samples loaded by a golden script: series for RunQuery, and series with values that the engine
// does not support.
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
  // Adds samples. InvalidArgument, with the line: a sample is older than the last one of its
  // series, or has another value at the same time.
  Status Load(const LoadCommand& load);
  void Clear();

  // Series with float values.
  const std::vector<QuerySeries>& series() const { return series_; }

  struct Touched {
    bool native_histograms = false;
    bool start_timestamps = false;
  };
  // Series that the selectors of an expression match; empty if it does not parse.
  Touched TouchedBy(const std::string& expr) const;

 private:
  std::vector<QuerySeries> series_;
  std::map<Labels, size_t> index_;
  std::map<Labels, Touched> traits_;  // of series with any traits
};

}  // namespace pitwall::offline
