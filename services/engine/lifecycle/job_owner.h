// Whose job it is: which batches it takes, and which it refuses.
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

// A job belongs to the first owner that a batch names, unless root declares another
// (architecture.md, section 5). docs/security.md lists the rights of each kind of batch. A function
// of the log alone.
//
//  * A batch of an unknown owner (an OTLP source, a collector of an earlier version) is taken as
//    long as the job's owner is not declared.
//  * Two declarations that differ: the first counts.
//  * A tombstone of an undeclared owner holds against that owner only: nobody can end a job of this
//    id beforehand.
class JobOwner {
 public:
  enum class Verdict {
    kOurs,
    kOther,      // another owner: the batch changes nothing
    kDisplaces,  // another owner gets the job: what it was until now is a squatter's, or over
  };
  // `ended`: the job is over, only its tombstone is left.
  Verdict Judge(const Batch& batch, bool ended) const;
  // Adopts the owner that an accepted batch names.
  void Adopt(const Batch& batch);

  const std::string& text() const { return owner_; }  // "": not known
  bool declared() const { return declared_; }

  // Source and node of a batch.
  using Sender = std::pair<std::string, std::string>;
  // Counts a batch of another owner. Returns true for a sender that is not reported yet; at most
  // kMaxSenders are reported at a time.
  bool Refuse(const Batch& batch);
  // So much time has passed. Returns the senders of which nothing came for kForgetNs.
  std::vector<Sender> Tick(int64_t elapsed_ns);
  void ForgetSenders() { refused_.clear(); }

  void Save(BinaryWriter& out) const;
  void Restore(BinaryReader& in);

  static constexpr size_t kMaxSenders = 16;
  static constexpr int64_t kForgetNs = 60 * kNanosPerSecond;

 private:
  std::string owner_;
  bool declared_ = false;
  std::map<Sender, int64_t> refused_;  // time since its last batch
};

}  // namespace pitwall::engine
