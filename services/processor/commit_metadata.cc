#include "services/processor/commit_metadata.h"

#include <charconv>
#include <vector>

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"

namespace pitwall::processor {

namespace {

uint64_t HashOf(std::string_view job, int64_t offset) {
  return StableHash64(Cat(job, "\n", offset));
}

// Returns the value of the "<key>=<value>" field at index `at`, or nullopt if the field is missing.
std::optional<std::string_view> Field(const std::vector<std::string_view>& fields, size_t at,
                                      std::string_view key) {
  if (at >= fields.size() || !StartsWith(fields[at], key)) return std::nullopt;
  const std::string_view rest = fields[at].substr(key.size());
  if (rest.empty() || rest[0] != '=') return std::nullopt;
  return rest.substr(1);
}

bool ParseUnsigned(std::string_view text, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void SnapshotSum::Add(std::string_view job, int64_t offset) {
  ++jobs;
  digest += HashOf(job, offset);
}

void SnapshotSum::Remove(std::string_view job, int64_t offset) {
  --jobs;
  digest -= HashOf(job, offset);
}

std::string EncodeCommitMetadata(const CommitMetadata& metadata) {
  if (!metadata.snapshots.has_value())
    return Cat("v1;L=", metadata.replay, ";rules=", metadata.rules);
  const AppliedRecord applied = metadata.applied.value_or(AppliedRecord());
  // Version 3 is written only if needed, because older versions of Pitwall cannot read it.
  const bool v3 = !metadata.initial_rules.empty();
  return Cat(v3 ? "v3" : "v2", ";L=", metadata.replay, ";rules=", metadata.rules,
             ";jobs=", metadata.snapshots->jobs, ";digest=", metadata.snapshots->digest,
             ";applied=", applied.offset, ";at=", applied.append_time.ns(),
             ";owner=", metadata.owner, v3 ? ";initial=" : "", metadata.initial_rules);
}

StatusOr<CommitMetadata> ParseCommitMetadata(std::string_view text) {
  const Status bad = DataLoss(Cat("commit metadata ", Quote(text),
                                  " has an unknown format; start the version that wrote it"));
  const std::vector<std::string_view> fields = Split(text, ';');
  const bool v1 = fields.size() == 3 && fields[0] == "v1";
  const bool v2 = fields.size() == 8 && fields[0] == "v2";
  const bool v3 = fields.size() == 9 && fields[0] == "v3";
  if (!v1 && !v2 && !v3) return bad;
  CommitMetadata metadata;
  const auto replay = Field(fields, 1, "L");
  const auto rules = Field(fields, 2, "rules");
  if (!replay.has_value() || !rules.has_value() || !ParseInt(*replay).has_value()) return bad;
  metadata.replay = *ParseInt(*replay);
  metadata.rules = std::string(*rules);
  if (v1) return metadata;
  const auto jobs = Field(fields, 3, "jobs");
  const auto digest = Field(fields, 4, "digest");
  const auto applied = Field(fields, 5, "applied");
  const auto at = Field(fields, 6, "at");
  const auto owner = Field(fields, 7, "owner");
  SnapshotSum sum;
  if (!jobs.has_value() || !digest.has_value() || !applied.has_value() || !at.has_value() ||
      !owner.has_value() || !ParseUnsigned(*jobs, &sum.jobs) ||
      !ParseUnsigned(*digest, &sum.digest) || !ParseInt(*applied).has_value() ||
      !ParseInt(*at).has_value()) {
    return bad;
  }
  metadata.snapshots = sum;
  if (*ParseInt(*applied) >= 0)
    metadata.applied = {*ParseInt(*applied), AppendTime::FromNs(*ParseInt(*at))};
  metadata.owner = std::string(*owner);
  if (v3) {
    const auto initial = Field(fields, 8, "initial");
    if (!initial.has_value()) return bad;
    metadata.initial_rules = std::string(*initial);
  }
  return metadata;
}

}  // namespace pitwall::processor
