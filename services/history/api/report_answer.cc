// Handler that returns a job's report as HTML or JSON.
#include <array>

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/event_link.h"
#include "services/history/api/answers.h"
#include "services/history/report/html.h"
#include "services/history/report/json.h"
#include "services/history/report/report.h"

namespace pitwall::history {
namespace {

// Keeps only those characters of a job ID that are safe in a file name within a header.
std::string FileNameOf(std::string_view job) {
  std::string out;
  for (const char c : job.substr(0, 100)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    out.push_back(plain ? c : '_');
  }
  return Cat("report-", out, ".html");
}

}  // namespace

Answer AnswerReport(const ApiCall& call) {
  static constexpr std::array<std::string_view, 2> kFormats = {"json", "html"};
  const size_t format = call.parameters.Choice("format", kFormats);
  RETURN_IF_ERROR(call.parameters.status());
  ReportRequest request;
  request.history = &call.history();
  ASSIGN_OR_RETURN(request.job, call.Job());
  if (call.options.rules) request.rules = call.options.rules(*request.job);
  request.version = call.options.version;
  request.link =
      cloudevents::ExternalLink(call.options.external_url, cloudevents::JobLink(request.job->id));
  ASSIGN_OR_RETURN(const Document report, MakeReport(request));
  if (format == 0) return http::HttpResponse::Json(ReportJson(report));
  http::HttpResponse response;
  response.content_type = "text/html; charset=utf-8";
  response.body = ReportHtml(report);
  response.headers.emplace_back("Content-Security-Policy",
                                Cat(kReportPolicy, "; frame-ancestors 'none'; sandbox"));
  response.headers.emplace_back("Content-Disposition",
                                Cat("inline; filename=\"", FileNameOf(request.job->id), "\""));
  return response;
}

}  // namespace pitwall::history
