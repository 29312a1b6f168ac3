// Owner of a job. The owner determines the batches that the job accepts.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/base/binary.h"
#include "services/base/time.h"
#include "services/model/telemetry.h"

namespace pitwall::engine {

// A job belongs to the owner named in the first batch with an owner, unless root declares another
// owner (architecture.md, section 5). docs/security.md lists the rights of each kind of batch. The
// owner depends only on the log.
//
//  * A batch with an unknown owner (from an OTLP source or an older collector) is accepted until an
//    owner is declared for the job.
//  * If two declarations differ, the first one counts.
//  * A tombstone with an undeclared owner applies to that owner only, so that another user cannot
//    end a job with this ID in advance.
class JobOwner {
 public:
  enum class Verdict {
    kOurs,
    kOther,      // another owner, so the batch has no effect
    kDisplaces,  // another owner gets the job: its previous state is a squatter's, or the job is
                 // over
  };
  // `ended` is true if the job is over and only its tombstone remains.
  Verdict Judge(const Batch& batch, bool ended) const;
  // Adopts the owner named in an accepted batch.
  void Adopt(const Batch& batch);

  const std::string& text() const { return owner_; }  // "" if unknown.
  bool declared() const { return declared_; }

  // Source and node of a batch.
  using Sender = std::pair<std::string, std::string>;
  // Counts a batch from another owner. Returns true if the sender has not been reported yet. At
  // most kMaxSenders senders are reported at a time.
  bool Refuse(const Batch& batch);
  // Advances the time by `elapsed`. Returns and removes the senders that have sent no batch for
  // kForgetAfter.
  std::vector<Sender> Tick(Duration elapsed);
  void ForgetSenders() { refused_.clear(); }

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

  static constexpr size_t kMaxSenders = 16;
  static constexpr Duration kForgetAfter = Duration::Seconds(60);

 private:
  std::string owner_;
  bool declared_ = false;
  std::map<Sender, Duration> refused_;  // Time since the sender's last batch.
};

}  // namespace pitwall::engine
