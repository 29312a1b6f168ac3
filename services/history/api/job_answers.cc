#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/event_link.h"
#include "services/history/api/answers.h"
#include "services/history/api/json_fields.h"
#include "services/history/views/job_summary.h"
#include "services/model/value.h"

namespace pitwall::history {
namespace {

bool Holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

uint64_t FoundIn(const JobOverview& job) {
  uint64_t out = 0;
  for (const auto& [rule, count] : job.found) out += count;
  return out;
}

// Writes the fields of a job as they appear in lists, without the braces.
void WriteJobFields(const JobOverview& job, const ApiOptions& options, JsonWriter* out) {
  TextField("id", job.id, out);
  TextField("name", job.name, out);
  TextField("owner", job.owner, out);
  ObjectField("reference", out, [&] {
    TextField("platform", job.reference.platform, out);
    TextField("cluster", job.reference.cluster, out);
    TextField("namespace", job.reference.namespace_name, out);
    TextField("kind", job.reference.kind, out);
    TextField("name", job.reference.name, out);
    TextField("uid", job.reference.uid, out);
    TextField("queue", job.reference.queue, out);
  });
  TextField("state", job.ended_ns == 0 ? "running" : "ended", out);
  TimeField("first_ns", job.first_ns, out);
  TimeField("last_ns", job.last_ns, out);
  TimeField("started_ns", job.started_ns, out);
  TimeField("ended_ns", job.ended_ns, out);
  TimeField("done_ns", job.ended_ns == 0 ? 0 : Summarize(job).end_ns, out);
  TextField("end_detail", EndDetailName(job.end_detail), out);
  TextField("end_text", job.end_text, out);
  CountField("attempt_count", job.attempts.size(), out);
  std::set<int64_t> ranks;
  std::set<std::string_view> nodes;
  for (const auto& [id, source] : job.sources) {
    if (source.rank >= 0) ranks.insert(source.rank);
    if (!source.node.empty()) nodes.insert(source.node);
  }
  CountField("ranks", ranks.size(), out);
  CountField("nodes", nodes.size(), out);
  CountField("open_issues", job.open.count, out);
  CountField("found_issues", FoundIn(job), out);
  TextField("worst_severity", job.open.worst_severity, out);
  TimeField("stalled_since_ns", job.open.stalled_since_ns, out);
  CountField("samples", job.samples, out);
  CountField("bytes", job.bytes, out);
  TimeField("raw_from_ns", job.raw_from_ns, out);
  TimeField("raw_dropped_ns", job.raw_dropped_ns, out);
  BoolField("archived", job.archived, out);
  TextField("link", cloudevents::ExternalLink(options.external_url, cloudevents::JobLink(job.id)),
            out);
}

void WriteAttemptFields(const AttemptLife& attempt, JsonWriter* out) {
  CountField("attempt", attempt.attempt, out);
  TimeField("began_ns", attempt.began_ns, out);
  TimeField("ended_ns", attempt.ended_ns, out);
  TextField("end_detail", EndDetailName(attempt.end_detail), out);
  TextField("end_text", attempt.end_text, out);
  TimeField("first_step_ns", attempt.first_step_ns, out);
  TimeField("last_step_ns", attempt.last_step_ns, out);
  ObjectsField("lost", attempt.lost, out, [&](const std::pair<int64_t, LostRank>& of_time) {
    const auto& [time_ns, lost] = of_time;
    TimeField("time_ns", time_ns, out);
    IndexField("rank", lost.rank, out);
    TextField("node", lost.node, out);
    IndexField("signal", lost.signal.value_or(-1), out);
    IndexField("exit_code", lost.exit_code.value_or(-1), out);
    BoolField("oom_killed", lost.oom_killed, out);
  });
}

void WriteSourceFields(const SourceLife& source, JsonWriter* out) {
  TextField("source", source.source, out);
  TextField("node", source.node, out);
  IndexField("rank", source.rank, out);
  TimeField("first_ns", source.first_ns, out);
  TimeField("last_ns", source.last_ns, out);
  NumberField("interval_seconds",
              source.interval_ns > 0 ? static_cast<double>(source.interval_ns) / 1e9 : NormalNan(),
              out);
  BoolField("goodbye", source.goodbye, out);
}

void WriteParts(const PartLengths& parts, int64_t whole_ns, JsonWriter* out) {
  out->Key("parts");
  out->BeginArray();
  for (size_t part = 0; part < parts.size(); ++part) {
    const auto ns = static_cast<double>(parts[part]);
    out->BeginObject();
    TextField("part", kJobPartNames[part], out);
    NumberField("seconds", ns / 1e9, out);
    NumberField("share", whole_ns > 0 ? ns / static_cast<double>(whole_ns) : 0, out);
    out->EndObject();
  }
  out->EndArray();
}

void WriteSummary(const JobSummary& summary, JsonWriter* out) {
  ObjectField("summary", out, [&] {
    TimeField("begin_ns", summary.begin_ns, out);
    TimeField("end_ns", summary.end_ns, out);
    WriteParts(summary.parts_ns, summary.end_ns - summary.begin_ns, out);
    ObjectsField("attempts", summary.attempts, out, [&](const AttemptSummary& attempt) {
      CountField("attempt", attempt.attempt, out);
      TimeField("begin_ns", attempt.begin_ns, out);
      TimeField("loop_begin_ns", attempt.loop_begin_ns, out);
      TimeField("loop_end_ns", attempt.loop_end_ns, out);
      TimeField("end_ns", attempt.end_ns, out);
      WriteParts(attempt.parts_ns, attempt.end_ns - attempt.begin_ns, out);
    });
  });
}

// Values of the `sort` parameter, in the same order as JobSort.
enum class JobSort { kLast, kStarted, kName, kIssues, kSamples, kBytes };
constexpr std::array<std::string_view, 6> kSorts = {"last",   "started", "name",
                                                    "issues", "samples", "bytes"};

bool SortsBefore(JobSort sort, const JobOverview& a, const JobOverview& b) {
  switch (sort) {
    case JobSort::kLast:
      return a.last_ns < b.last_ns;
    case JobSort::kStarted:
      return a.started_ns < b.started_ns;
    case JobSort::kName:
      return a.name < b.name;
    case JobSort::kIssues:
      return std::pair(a.open.count, FoundIn(a)) < std::pair(b.open.count, FoundIn(b));
    case JobSort::kSamples:
      return a.samples < b.samples;
    case JobSort::kBytes:
      return a.bytes < b.bytes;
  }
  return false;
}

Status NeedsKeeper(const ApiOptions& options) {
  return options.keeper != nullptr
             ? OkStatus()
             : FailedPrecondition(
                   "job: the history of this server is read-only; use the server that writes it");
}

// Returns true if the text is a single folder name with no separators or leading dot.
bool IsFolderName(std::string_view name) {
  return !name.empty() && name.size() <= 128 && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

std::string FolderNameOf(std::string_view job) {
  std::string out;
  for (const char c : job.substr(0, 128)) out.push_back(IsFolderName(std::string(1, c)) ? c : '_');
  return out;
}

}  // namespace

StatusOr<JobLifePtr> ApiCall::CompleteJob() const {
  ASSIGN_OR_RETURN(JobLifePtr job, Job());
  const std::string_view given = parameters.Text("job");
  if (given == job->id) return job;
  return InvalidArgument(
      Cat("job: must be a complete job ID (got ", Quote(given), "); use ", Quote(job->id)));
}

TimeRange WholeOf(const JobOverview& job) {
  return {job.first_ns, std::max(job.first_ns, job.last_ns) + 1};
}

Answer AnswerJobs(const ApiCall& call) {
  static constexpr std::array<std::string_view, 3> kStates = {"all", "running", "ended"};
  static constexpr std::array<std::string_view, 2> kOrders = {"desc", "asc"};
  Parameters& in = call.parameters;
  const std::string_view name = in.Text("name"), owner = in.Text("owner");
  const size_t state = in.Choice("state", kStates);
  const auto sort = static_cast<JobSort>(in.Choice("sort", kSorts));
  const bool ascending = in.Choice("order", kOrders) == 1;
  const PageRequest page = ReadPage(&in, 100, 1000);
  RETURN_IF_ERROR(in.status());
  JobList list = call.history().ListJobs();
  std::vector<JobLifePtr>& jobs = list.jobs;
  std::erase_if(jobs, [&](const JobLifePtr& job) {
    return !(Holds(job->name, name) || Holds(job->id, name)) ||
           (!owner.empty() && job->owner != owner) || (state == 1 && job->ended_ns != 0) ||
           (state == 2 && job->ended_ns == 0);
  });
  // Node pseudo-jobs are not training jobs, so they come last.
  const auto of_node = [](const JobOverview& job) { return StartsWith(job.id, "node:"); };
  std::stable_sort(jobs.begin(), jobs.end(), [&](const JobLifePtr& a, const JobLifePtr& b) {
    if (of_node(*a) != of_node(*b)) return of_node(*b);
    if (SortsBefore(sort, *a, *b)) return ascending;
    if (SortsBefore(sort, *b, *a)) return !ascending;
    return a->id < b->id;
  });
  const Page rows = page.Of(jobs.size());
  http::HttpResponse response = JsonAnswer([&](JsonWriter* out) {
    ObjectsField("jobs", rows.Of(jobs), out,
                 [&](const JobLifePtr& job) { WriteJobFields(*job, call.options, out); });
    NextField(rows, out);
    CountField("total", jobs.size(), out);
    if (!list.missing.empty()) TextsField("missing", list.missing.Texts(), out);
  });
  if (!list.missing.empty()) response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

Answer AnswerJob(const ApiCall& call) {
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  return JsonAnswer([&](JsonWriter* out) {
    WriteJobFields(*job, call.options, out);
    ObjectsField("attempts", job->attempts, out,
                 [&](const AttemptLife& attempt) { WriteAttemptFields(attempt, out); });
    ObjectsField("sources", job->sources, out,
                 [&](const auto& source) { WriteSourceFields(source.second, out); });
    ObjectField("found", out, [&] {
      for (const auto& [rule, count] : job->found) CountField(rule, count, out);
    });
    WriteSummary(Summarize(*job), out);
  });
}

Answer DeleteJob(const ApiCall& call) {
  RETURN_IF_ERROR(NeedsKeeper(call.options));
  ASSIGN_OR_RETURN(const JobLifePtr job, call.CompleteJob());
  RETURN_IF_ERROR(call.options.keeper->DeleteJob(job->id));
  return JsonAnswer([&](JsonWriter* out) { TextField("deleted", job->id, out); });
}

Answer ArchiveJob(const ApiCall& call) {
  RETURN_IF_ERROR(NeedsKeeper(call.options));
  if (call.options.archive_dir.empty())
    return FailedPrecondition(
        "job: archiving is disabled on this server; configure a folder for archives");
  ASSIGN_OR_RETURN(const JobLifePtr job, call.Job());
  std::string name(call.parameters.Text("name"));
  if (name.empty()) name = FolderNameOf(job->id);
  if (!IsFolderName(name)) {
    return InvalidArgument(
        Cat("name: not a valid folder name (got ", Quote(name.substr(0, 128)),
            "); use letters, digits, '.', '_', and '-', and do not start with '.'"));
  }
  const std::string folder = Cat(call.options.archive_dir, "/", name);
  RETURN_IF_ERROR(call.options.keeper->ArchiveJob(job->id, folder));
  return JsonAnswer([&](JsonWriter* out) {
    TextField("job", job->id, out);
    TextField("folder", folder, out);
  });
}

}  // namespace pitwall::history
