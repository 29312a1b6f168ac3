// Samples loaded by a golden script. Contains the series for RunQuery, and a list of the series
// with values that the engine does not support.
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
  // Adds samples. Returns InvalidArgument with the line if a sample is older than the last sample
  // of its series, or if it has a different value at the same time.
  Status Load(const LoadCommand& load);
  void Clear();

  // Returns the series with float values.
  const std::vector<QuerySeries>& series() const { return series_; }

  struct Touched {
    bool native_histograms = false;
    bool start_timestamps = false;
  };
  // Returns the combined traits of all series that match the expression's selectors. If the
  // expression cannot be parsed, all traits are false.
  Touched TouchedBy(const std::string& expr) const;

 private:
  std::vector<QuerySeries> series_;
  std::map<Labels, size_t> index_;
  std::map<Labels, Touched> traits_;  // only series with at least one trait
};

}  // namespace pitwall::offline
