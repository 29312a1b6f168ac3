#include "services/app/cli/history/job_text.h"

#include <algorithm>
#include <vector>

#include "services/app/cli/history/plot.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"

namespace pitwall::history_client {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

double NumberOf(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_number() ? it->get<double>() : 0;
}

std::string TimeText(int64_t ns) { return ns == 0 ? "-" : ShortTime(ns / kSecond * kSecond); }

std::string Lasting(int64_t from_ns, int64_t to_ns) {
  if (from_ns == 0 || to_ns < from_ns) return "-";
  // Durations under ten seconds are printed in milliseconds because whole seconds would be too
  // coarse.
  const int64_t unit = to_ns - from_ns < 10 * kSecond ? kSecond / 1000 : kSecond;
  return FormatDuration((to_ns - from_ns) / unit * unit);
}

int64_t BeginOf(const Json& job) {
  const int64_t started = FieldNs(job, "started_ns");
  return started != 0 ? started : FieldNs(job, "first_ns");
}

std::string Aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      line += row[c];
      if (c + 1 < row.size()) line.append(widths[c] - row[c].size() + 2, ' ');
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    CatTo(out, line, "\n");
  }
  return out;
}

std::string StateOf(const Json& job) {
  // Older servers send only the detail.
  const std::string text = FieldText(job, "end_text");
  const std::string detail = text.empty() ? FieldText(job, "end_detail") : text;
  return detail.empty() ? FieldText(job, "state") : detail;
}

std::string Share(double share) { return Cat(ShortNumber(100 * share), " %"); }

// Returns the last rank's end time, as on the web page, or the time of the newest sample if the job
// is running.
int64_t EndOf(const Json& job) {
  const int64_t done = FieldNs(job, "done_ns");
  return done != 0 ? done : FieldNs(job, "last_ns");
}

void AddAttempts(const Json& job, std::string* out) {
  std::vector<std::vector<std::string>> rows = {{"attempt", "began", "lasted", "end", "lost"}};
  for (const Json& attempt : job.value("attempts", Json::array())) {
    const int64_t began = FieldNs(attempt, "began_ns");
    const int64_t ended = FieldNs(attempt, "ended_ns");
    std::string lost;
    for (const Json& rank : attempt.value("lost", Json::array()))
      CatTo(lost, lost.empty() ? "" : ", ", "rank ", FieldText(rank, "rank"));
    const std::string text = FieldText(attempt, "end_text");
    const std::string end = text.empty() ? FieldText(attempt, "end_detail") : text;
    rows.push_back({FieldText(attempt, "attempt"), TimeText(began),
                    Lasting(began, ended != 0 ? std::min(ended, EndOf(job)) : EndOf(job)),
                    ended == 0    ? "runs"
                    : end.empty() ? "ended"
                                  : end,
                    lost});
  }
  if (rows.size() > 1) CatTo(*out, "\n", Aligned(rows));
}

void AddParts(const Json& job, std::string* out) {
  const auto summary = job.find("summary");
  if (summary == job.end() || !summary->is_object()) return;
  std::vector<std::vector<std::string>> rows = {{"part", "time", "share"}};
  for (const Json& part : summary->value("parts", Json::array())) {
    rows.push_back(
        {FieldText(part, "part"),
         FormatDuration(static_cast<int64_t>(NumberOf(part, "seconds") * 1000) * 1'000'000),
         Share(NumberOf(part, "share"))});
  }
  if (rows.size() > 1) CatTo(*out, "\n", Aligned(rows));
}

}  // namespace

std::string FieldText(const Json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end() || it->is_null()) return "";
  return it->is_string() ? it->get<std::string>() : it->dump();
}

int64_t FieldNs(const Json& object, const char* name) {
  return ParseInt(FieldText(object, name)).value_or(0);
}

std::string JobTable(const Json& jobs) {
  std::vector<std::vector<std::string>> rows = {{"JOB", "STATE", "STARTED", "LASTED", "ATTEMPTS",
                                                 "RANKS", "OPEN", "FOUND", "WORST", "SAMPLES",
                                                 "BYTES"}};
  for (const Json& job : jobs) {
    const int64_t begin = BeginOf(job);
    rows.push_back({FieldText(job, "id"), StateOf(job), TimeText(begin), Lasting(begin, EndOf(job)),
                    FieldText(job, "attempt_count"), FieldText(job, "ranks"),
                    FieldText(job, "open_issues"), FieldText(job, "found_issues"),
                    FieldText(job, "worst_severity"), ShortNumber(NumberOf(job, "samples")),
                    FormatBytes(NumberOf(job, "bytes"))});
  }
  return Aligned(rows);
}

std::string JobPage(const Json& job) {
  const int64_t begin = BeginOf(job);
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) rows.push_back({name, value});
  };
  add("job", FieldText(job, "id"));
  add("name", FieldText(job, "name"));
  add("owner", FieldText(job, "owner"));
  add("state", StateOf(job));
  add("started", TimeText(begin));
  add("lasted", Lasting(begin, EndOf(job)));
  add("ranks", FieldText(job, "ranks"));
  add("nodes", FieldText(job, "nodes"));
  add("issues",
      Cat(FieldText(job, "open_issues"), " open, ", FieldText(job, "found_issues"), " found"));
  add("history", Cat(ShortNumber(NumberOf(job, "samples")), " samples, ",
                     FormatBytes(NumberOf(job, "bytes"))));
  if (const int64_t raw = FieldNs(job, "raw_from_ns"); raw != 0)
    add("raw from", Cat(TimeText(raw), " (older raw samples were dropped; rollups remain)"));
  if (FieldText(job, "archived") == "true") add("archived", "yes");
  add("page", FieldText(job, "link"));
  std::string out = Aligned(rows);
  AddAttempts(job, &out);
  AddParts(job, &out);
  const Json found = job.value("found", Json::object());
  if (!found.empty()) {
    std::vector<std::vector<std::string>> lines = {{"rule", "found"}};
    for (const auto& [rule, count] : found.items()) lines.push_back({rule, count.dump()});
    CatTo(out, "\n", Aligned(lines));
  }
  return out;
}

}  // namespace pitwall::history_client
