#include "services/history/peers/peer_requests.h"

#include <algorithm>

#include "services/base/text/strings.h"
#include "services/history/peers/peer_codec.h"

namespace pitwall::history {
namespace {

constexpr uint64_t kMaxChanges = 10'000;

StatusOr<std::string> Answer(const History& own, std::string_view request) {
  if (request.size() < 2 || request[0] != static_cast<char>(kPeerVersion))
    return Unavailable("the peer runs another version; run the same version everywhere");
  BinaryReader in(request.substr(2));
  BinaryWriter out;
  switch (static_cast<PeerMethod>(request[1])) {
    case PeerMethod::kJobs: {
      const std::vector<JobLifePtr> jobs = own.Jobs();
      out.U64(jobs.size());
      for (const JobLifePtr& job : jobs) PutLife(*job, &out);
      return out.Take();
    }
    case PeerMethod::kHas: {
      const std::string id = in.Str();
      const StatusOr<JobLifePtr> job = own.FindJob(id);
      out.Bool(job.ok() && (*job)->id == id);
      return out.Take();
    }
    case PeerMethod::kSeries: {
      ASSIGN_OR_RETURN(const SampleQuery query, TakeQuery(&in));
      RETURN_IF_ERROR(in.Finish("question"));
      ASSIGN_OR_RETURN(const std::vector<SeriesInfo> series, own.Series(query));
      PutSeries(series, &out);
      return out.Take();
    }
    case PeerMethod::kSamples: {
      ASSIGN_OR_RETURN(const SampleQuery query, TakeQuery(&in));
      RETURN_IF_ERROR(in.Finish("question"));
      ASSIGN_OR_RETURN(const std::vector<SampleColumn> columns, own.Samples(query));
      PutSamples(columns, &out);
      return out.Take();
    }
    case PeerMethod::kEvents: {
      ASSIGN_OR_RETURN(const std::vector<IssueEventPtr> events, own.Events(in.Str()));
      PutEvents(events, &out);
      return out.Take();
    }
    case PeerMethod::kChanges: {
      const uint64_t place = in.U64();
      const uint64_t most = std::min(in.U64(), kMaxChanges);
      RETURN_IF_ERROR(in.Finish("question"));
      ASSIGN_OR_RETURN(const std::vector<Change> changes, own.ChangesAfter(place, most));
      PutChanges(changes, &out);
      return out.Take();
    }
    case PeerMethod::kNewest:
      out.U64(own.newest_place());
      return out.Take();
  }
  return InvalidArgument(Cat("not a peer request (got type ", static_cast<int>(request[1]), ")"));
}

}  // namespace

http::HttpResponse AnswerPeer(const History& own, std::string_view request) {
  http::HttpResponse response;
  response.content_type = "application/octet-stream";
  response.body = PutAnswer(Answer(own, request));
  return response;
}

}  // namespace pitwall::history
