// Owner of a job, which determines the batches that the job accepts or rejects.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/base/binary.h"
#include "services/base/clock.h"
#include "services/model/telemetry.h"

namespace pitwall::engine {

// A job belongs to the owner in its first batch with one, unless root declares another owner
// (architecture.md, section 5). docs/security.md lists the rights of each kind of batch. The owner
// depends only on the log.
//
//  * A batch of an unknown owner (an OTLP source, a collector of an earlier version) is accepted
//    until an owner is declared for the job.
//  * If two declarations differ, the first one counts.
//  * A tombstone of an undeclared owner applies to that owner only, so that another user cannot end
//    a job with this ID beforehand.
class JobOwner {
 public:
  enum class Verdict {
    kOurs,
    kOther,      // another owner: the batch has no effect
    kDisplaces,  // another owner gets the job: its previous state is a squatter's, or the job is
                 // over
  };
  // `ended` means that the job is over and only its tombstone is left.
  Verdict Judge(const Batch& batch, bool ended) const;
  // Adopts the owner in an accepted batch.
  void Adopt(const Batch& batch);

  const std::string& text() const { return owner_; }  // "" if unknown.
  bool declared() const { return declared_; }

  // Source and node of a batch.
  using Sender = std::pair<std::string, std::string>;
  // Counts a batch of another owner. Returns true if its sender has not been reported yet. At most
  // kMaxSenders are reported at a time.
  bool Refuse(const Batch& batch);
  // Advances the time by `elapsed_ns`. Returns the senders without a batch for kForgetNs.
  std::vector<Sender> Tick(int64_t elapsed_ns);
  void ForgetSenders() { refused_.clear(); }

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

  static constexpr size_t kMaxSenders = 16;
  static constexpr int64_t kForgetNs = 60 * kNanosPerSecond;

 private:
  std::string owner_;
  bool declared_ = false;
  std::map<Sender, int64_t> refused_;  // Time since the sender's last batch.
};

}  // namespace pitwall::engine
