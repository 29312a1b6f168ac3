// Latest statistics for each tensor.
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
  std::string name;        // if empty, all are selected
  std::string collection;  // if empty, all are selected
  std::string mode;        // if empty, all are selected
  std::vector<int64_t> ranks;
  int64_t to_step = kMaxPosition;  // returns statistics from the newest step below this one
  ReadLimits limits;
};

struct TensorRow {
  std::string tensor;
  std::string collection;
  std::string mode;
  int64_t rank = -1;
  int64_t step = kNoStep;
  int64_t time_ns = 0;
  std::map<std::string, double> statistics;  // mean, std, and other statistics at this step
};

// Returns the newest statistics sorted by (tensor, collection, mode, rank). Histograms are
// excluded.
StatusOr<std::vector<TensorRow>> MakeTensorTable(const History& history, const TensorQuery& query);

}  // namespace pitwall::history
