#include "services/app/cli/history_access.h"

#include <cmath>
#include <string>

#include "absl/time/time.h"
#include "services/adapters/http/client/curl_transport.h"
#include "services/app/cli/history/job_text.h"
#include "services/app/config/secret_ref.h"
#include "services/base/clock.h"
#include "services/base/duration.h"
#include "services/base/system/files.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"

namespace pitwall {
namespace {

using Kind = FlagSpec::Kind;
using history_client::Client;
using history_client::Json;
using history_client::kRoutes;

constexpr std::string_view kDefaultUrl = "http://127.0.0.1:9870";
constexpr int64_t kMostJobs = 1'000'000;

std::string FileNameOf(std::string_view job) {
  std::string out;
  for (const char c : job) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.';
    out.push_back(plain ? c : '_');
  }
  return out;
}

}  // namespace

std::vector<FlagSpec> HistoryUrlFlags() {
  return {
      {"url", Kind::kOne, "URL", "HTTP address of a running Pitwall with insights",
       "http://127.0.0.1:9870"},
      {"insecure", Kind::kSwitch, "", "send the token over plain HTTP to any address"},
  };
}

std::vector<FlagSpec> HistoryFlags() {
  return JoinOptions({HistoryUrlFlags(),
                      {{"token-file", Kind::kOne, "FILE",
                        "file with the access token; required unless the address is loopback"},
                       {"ca-file", Kind::kOne, "FILE",
                        "certificates to trust (default: the certificates of the system)"}}});
}

Status WithHistory(const Flags& flags, const std::function<Status(const Client&)>& run) {
  std::string token;
  if (const auto path = flags.One("token-file")) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(*path, 4096));
    token = std::string(Trim(text));
    if (token.empty())
      return InvalidArgument(Cat("--token-file: file is empty (", Quote(*path), ")"));
  }
  http::CurlTransportOptions options;
  options.allow_insecure = token.empty() || flags.Has("insecure");
  options.allowed_cidrs = {"0.0.0.0/0", "::/0"};  // any address, because the user chose the URL
  options.ca_file = flags.One("ca-file").value_or("");
  ASSIGN_OR_RETURN(const std::unique_ptr<HttpTransport> transport,
                   http::MakeCurlTransport(options));
  const std::string url = flags.One("url").value_or(std::string(kDefaultUrl));
  if (const Status status = transport->CheckUrl(url); !status.ok())
    return InvalidArgument(
        Cat("--url: ", ToStd(status.message()), " (got ", Quote(ShownUrl(url)), ")"));
  const Client client(url, token, transport.get());
  try {
    return run(client);
  } catch (const history_client::JsonFault& error) {
    return absl::DataLossError(Cat(url, ": unexpected response (", error.what(),
                                   "); is the server running a different version?"));
  }
}

StatusOr<int64_t> ReadMoment(std::string_view flag, std::string_view text, int64_t now_ns) {
  if (text == "now") return now_ns;
  if (StartsWith(text, "-")) {
    if (const auto before = ParseDuration(text.substr(1)); before.ok()) return now_ns - *before;
  }
  if (const auto seconds = ParseDouble(text);
      seconds.has_value() && *seconds >= 0 && *seconds < 9e9)
    return std::llround(*seconds * 1000) * 1'000'000;
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, &error))
    return absl::ToUnixNanos(time);
  return InvalidArgument(
      Cat("--", flag,
          ": must be a time like 2026-01-02T03:04:05Z, Unix seconds, now, or -15m "
          "(got ",
          Quote(text), ")"));
}

Status ListHistoryJobs(const Flags& flags) {
  int64_t limit = 100;
  if (const auto text = flags.One("limit")) {
    const auto number = ParseInt(*text);
    if (!number.has_value() || *number < 1 || *number > kMostJobs)
      return InvalidArgument(Cat("--limit: must be 1 to ", kMostJobs, " (got ", Quote(*text), ")"));
    limit = *number;
  }
  return WithHistory(flags, [&](const Client& client) -> Status {
    Json jobs = Json::array();
    std::string page;
    int64_t total = 0;
    do {
      history_client::Parameters parameters = {
          {"limit", Cat(std::min<int64_t>(1000, limit - static_cast<int64_t>(jobs.size())))}};
      for (const char* name : {"name", "owner", "state", "sort", "order"}) {
        if (const auto value = flags.One(name)) parameters.emplace_back(name, *value);
      }
      if (!page.empty()) parameters.emplace_back("page", page);
      ASSIGN_OR_RETURN(const Json answer, client.Get(Cat(kRoutes, "/jobs"), parameters));
      const Json& some = answer.at("jobs");
      if (!some.is_array())
        return absl::DataLossError(
            Cat(kRoutes, "/jobs: unexpected response (jobs is not an array)"));
      jobs.insert(jobs.end(), some.begin(), some.end());
      // If several insights processes share the history, some of them may not have replied.
      if (page.empty() && answer.contains("missing")) {
        for (const Json& text : answer.at("missing")) {
          if (text.is_string()) PrintError(Cat(text.get<std::string>(), "\n"));
        }
      }
      total = answer.value("total", int64_t{0});
      page = history_client::FieldText(answer, "next");
      if (some.empty()) page.clear();
    } while (!page.empty() && static_cast<int64_t>(jobs.size()) < limit);
    if (flags.Has("json")) {
      for (const Json& job : jobs) PrintJson(job.dump() + "\n");
      return OkStatus();
    }
    if (jobs.empty()) {
      PrintError("no jobs: no job in the history matches\n");
      return OkStatus();
    }
    Print(history_client::JobTable(jobs));
    if (const auto shown = static_cast<int64_t>(jobs.size()); total > shown)
      PrintError(Cat(total - shown, " more; specify --limit ", total, " to list all\n"));
    return OkStatus();
  });
}

Status ShowHistoryJob(const std::string& job, const Flags& flags) {
  return WithHistory(flags, [&](const Client& client) -> Status {
    ASSIGN_OR_RETURN(const Json answer, client.Get(Cat(kRoutes, "/job"), {{"job", job}}));
    flags.Has("json") ? PrintJson(answer.dump() + "\n") : Print(history_client::JobPage(answer));
    return OkStatus();
  });
}

Status ReportHistoryJob(const std::string& job, const Flags& flags) {
  return WithHistory(flags, [&](const Client& client) -> Status {
    const bool json = flags.Has("json");
    ASSIGN_OR_RETURN(const std::string report,
                     client.GetText(Cat(kRoutes, "/report"),
                                    {{"job", job}, {"format", json ? "json" : "html"}}));
    if (json ? report.empty() || report[0] != '{' : report.find("</html>") == std::string::npos)
      return absl::DataLossError(Cat(kRoutes, "/report: unexpected response (not a report)"));
    if (json && !flags.Has("output")) {
      PrintJson(report + "\n");
      return OkStatus();
    }
    const std::string output =
        flags.One("output").value_or(Cat("report-", FileNameOf(job), ".html"));
    RETURN_IF_ERROR(WriteFile(output, report));
    PrintError(Cat("report of ", job, ": ", FormatBytes(static_cast<double>(report.size())),
                   " written to ", output, "\n"));
    return OkStatus();
  });
}

Status ArchiveHistoryJob(const std::string& job, const Flags& flags) {
  return WithHistory(flags, [&](const Client& client) -> Status {
    history_client::Parameters parameters = {{"job", job}};
    if (const auto name = flags.One("name")) parameters.emplace_back("name", *name);
    ASSIGN_OR_RETURN(const Json answer,
                     client.Call("POST", Cat(kRoutes, "/job/archive"), parameters));
    flags.Has("json") ? PrintJson(answer.dump() + "\n")
                      : Print(Cat("job ", history_client::FieldText(answer, "job"), " archived in ",
                                  history_client::FieldText(answer, "folder"), "\n"));
    return OkStatus();
  });
}

Status DeleteHistoryJob(const std::string& job, const Flags& flags) {
  return WithHistory(flags, [&](const Client& client) -> Status {
    ASSIGN_OR_RETURN(const Json answer,
                     client.Call("DELETE", Cat(kRoutes, "/job"), {{"job", job}}));
    flags.Has("json")
        ? PrintJson(answer.dump() + "\n")
        : Print(Cat("job ", history_client::FieldText(answer, "deleted"),
                    " deleted from the history; the log keeps its records until their retention "
                    "ends\n"));
    return OkStatus();
  });
}

}  // namespace pitwall
