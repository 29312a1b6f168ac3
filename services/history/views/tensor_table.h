// Latest statistics of each tensor.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

struct TensorQuery {
  JobLifePtr job;
  std::string name;        // "": all
  std::string collection;  // "": all
  std::string mode;        // "": all
  std::vector<int64_t> ranks;
  int64_t to_step = kMaxPosition;  // returns the newest step below it
  ReadLimits limits;
};

struct TensorRow {
  std::string tensor;
  std::string collection;
  std::string mode;
  int64_t rank = -1;
  int64_t step = kNoStep;
  int64_t time_ns = 0;
  std::map<std::string, double> statistics;  // mean, std, … at this step
};

// Sorted by (tensor, collection, mode, rank). Histograms are excluded.
StatusOr<std::vector<TensorRow>> MakeTensorTable(const History& history, const TensorQuery& query);

}  // namespace pitwall::history
