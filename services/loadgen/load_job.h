// Simulated job from start to end. Each node and each rank is a telemetry source with its own
// schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/loadgen/nodes/node_series.h"
#include "services/loadgen/rank_telemetry.h"
#include "services/loadgen/training.h"

namespace pitwall::loadgen {

class LoadJob {
 public:
  // Receives each batch when its source creates it. `source` is an index in [0, actors()). The
  // frame data is valid only during the call.
  using Emit = std::function<void(int64_t at_ns, size_t source, const Batch& batch)>;

  // `faults` apply to the first attempt, and their times are relative to its start. The plan must
  // outlive the job. The job ends at `end_ns`, or earlier if it completes all of its steps or dies.
  LoadJob(const LoadPlan& plan, uint64_t seed, std::string id, int64_t start_ns, int64_t end_ns,
          std::vector<Fault> faults);

  // Returns the number of actors: all nodes, followed by all ranks. Each actor acts independently.
  // Its first action is at FirstNs.
  size_t actors() const { return nodes_.size() + ranks_.size(); }
  int64_t FirstNs(size_t actor) const;
  // Runs the actor's next action. Returns the time of the following action, or kNever if the actor
  // has ended.
  int64_t Act(size_t actor, int64_t at_ns, const Emit& emit);

  // Returns the faults that have started since the last call.
  std::vector<Planted> TakePlanted();
  const std::string& id() const { return id_; }

 private:
  struct Node {
    std::string name;
    SourceName source;
    std::unique_ptr<NodeSeries> series;
    uint64_t sequence = 0;
    int64_t published_ns = 0;
    int64_t schemas_sent_ns = 0;
    bool announced = false;
    std::vector<int64_t> ranks;
    std::vector<double> leaked;
  };
  struct Rank {
    std::unique_ptr<RankTelemetry> telemetry;
    std::unique_ptr<RankWalk> walk;
    uint64_t attempt = 0;  // attempt that `telemetry` belongs to; 0 if none yet
    bool lost = false;
  };

  int64_t ActNode(Node* node, size_t actor, int64_t at_ns, const Emit& emit);
  int64_t ActRank(int64_t rank, size_t actor, int64_t at_ns, const Emit& emit);
  int64_t ActLost(int64_t rank, size_t actor, int64_t at_ns, const Emit& emit);
  void SampleNode(Node* node, int64_t at_ns);
  void PublishNode(Node* node, size_t actor, int64_t at_ns, bool goodbye, bool ended,
                   const Emit& emit);
  void BeginAttempt(int64_t start_ns);
  int64_t NodeOf(int64_t rank) const { return rank / ranks_per_node_; }
  bool FirstOfNode(int64_t rank) const { return rank % ranks_per_node_ == 0; }
  // Returns the time at which the ranks end normally, or kNever if the time is not known yet.
  int64_t over_ns() const;

  const LoadPlan& plan_;
  const uint64_t seed_;
  const std::string id_;
  const int64_t start_ns_;
  const int64_t end_ns_;
  const int64_t ranks_per_node_;
  std::vector<Planted> planted_;
  std::vector<bool> reported_;
  std::unique_ptr<Training> training_;
  // Previous attempts, kept until no rank refers to them.
  std::vector<std::unique_ptr<Training>> old_trainings_;
  uint64_t attempt_ = 0;
  int64_t attempt_start_ns_ = 0;
  std::vector<Node> nodes_;
  std::vector<Rank> ranks_;
  RankNews news_;
};

}  // namespace pitwall::loadgen
