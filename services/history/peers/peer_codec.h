// Messages between peers. The format is private and valid only between processes of the same
// version.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/binary.h"
#include "services/base/status.h"
#include "services/history/history.h"

namespace pitwall::history {

// First byte of each request. A peer with a different version rejects the request.
inline constexpr uint8_t kPeerVersion = 2;

enum class PeerMethod : uint8_t {
  kJobs = 1,
  kHas = 2,  // tests whether a job with exactly this ID exists
  kSeries = 3,
  kSamples = 4,
  kEvents = 5,
  kChanges = 6,
  kNewest = 7,
};

void PutLife(const JobOverview& life, BinaryWriter* out);
JobLifePtr TakeLife(BinaryReader* in);

// Queries for series and for samples have the same encoding.
void PutQuery(const SampleQuery& query, BinaryWriter* out);
StatusOr<SampleQuery> TakeQuery(BinaryReader* in);

void PutSeries(const std::vector<SeriesInfo>& series, BinaryWriter* out);
std::vector<SeriesInfo> TakeSeries(BinaryReader* in);
void PutSamples(const std::vector<SampleColumn>& columns, BinaryWriter* out);
std::vector<SampleColumn> TakeSamples(BinaryReader* in);

void PutEvents(const std::vector<IssueEventPtr>& events, BinaryWriter* out);
StatusOr<std::vector<IssueEventPtr>> TakeEvents(BinaryReader* in);
void PutChanges(const std::vector<Change>& changes, BinaryWriter* out);
// Returns DataLoss if the answer is truncated or too long.
StatusOr<std::vector<Change>> DecodeChanges(std::string_view answer);
StatusOr<uint64_t> DecodePlace(std::string_view answer);

// Encodes an answer's status, followed by the answer's bytes if the status is OK.
std::string PutAnswer(const StatusOr<std::string>& answer);
StatusOr<std::string> TakeAnswer(std::string_view bytes);

}  // namespace pitwall::history
