#include "services/app/cli/history/span_pages.h"

#include "services/app/cli/history/job_text.h"
#include "services/base/text/strings.h"
#include "services/base/time.h"

namespace pitwall::history_client {
namespace {

constexpr const char* kColumns[] = {"source",   "node",   "rank", "kind", "name",
                                    "start_ns", "end_ns", "step", "mode"};

Status MalformedSpans(std::string_view what) {
  return absl::DataLossError(Cat("/spans: malformed response (", what, ")"));
}

std::string TextAt(const Json& column, size_t i) {
  return column[i].is_string() ? column[i].get<std::string>() : "";
}

StatusOr<EventTime> TimeAt(const Json& column, size_t i) {
  const auto number =
      column[i].is_string() ? ParseInt(column[i].get_ref<const std::string&>()) : std::nullopt;
  if (!number.has_value()) return MalformedSpans("a time is not an integer");
  return EventTime::FromNs(*number);
}

StatusOr<SpanOf> SpanAt(const Json& spans, size_t i) {
  SpanOf one;
  one.source = TextAt(spans["source"], i);
  one.node = TextAt(spans["node"], i);
  if (spans["rank"][i].is_number_integer()) one.rank = spans["rank"][i].get<int64_t>();
  const std::string kind = TextAt(spans["kind"], i);
  if (kind == "step") {
    one.span.kind = Span::Kind::kStep;
  } else if (kind == "phase") {
    one.span.kind = Span::Kind::kPhase;
  } else if (kind == "operator") {
    one.span.kind = Span::Kind::kOperator;
  } else {
    return MalformedSpans(Cat("unknown kind ", Quote(kind)));
  }
  one.span.name = TextAt(spans["name"], i);
  ASSIGN_OR_RETURN(one.span.start, TimeAt(spans["start_ns"], i));
  ASSIGN_OR_RETURN(one.span.end, TimeAt(spans["end_ns"], i));
  if (spans["step"][i].is_number_integer()) one.span.step = spans["step"][i].get<int64_t>();
  one.span.mode = TextAt(spans["mode"], i);
  return one;
}

}  // namespace

Status ForEachSpan(const Client& client, const SliceOf& slice, uint64_t most,
                   const std::function<void(const SpanOf&)>& take) {
  Parameters parameters = {{"job", slice.job}, {"limit", "200000"}};
  if (!slice.from.empty()) parameters.emplace_back("from", slice.from);
  if (!slice.to.empty()) parameters.emplace_back("to", slice.to);
  if (slice.from_step >= 0) {
    parameters.emplace_back("mode", slice.mode);
    parameters.emplace_back("from_step", Cat(slice.from_step));
    parameters.emplace_back("to_step", Cat(slice.to_step));
  }
  for (int64_t rank : slice.ranks) parameters.emplace_back("rank", Cat(rank));
  uint64_t count = 0;
  std::string page;
  do {
    Parameters asked = parameters;
    if (!page.empty()) asked.emplace_back("page", page);
    ASSIGN_OR_RETURN(const Json answer, client.Get(Cat(kRoutes, "/spans"), asked));
    if (!answer.is_object() || !answer.contains("spans")) return MalformedSpans("no spans");
    const Json& spans = answer["spans"];
    const size_t rows = spans.is_object() && spans.contains("kind") ? spans["kind"].size() : 0;
    for (const char* column : kColumns) {
      if (!spans.is_object() || !spans.contains(column) || !spans[column].is_array() ||
          spans[column].size() != rows)
        return MalformedSpans(Cat("column ", column));
    }
    for (size_t i = 0; i < rows; ++i) {
      if (++count > most)
        return absl::ResourceExhaustedError(
            Cat("/spans: more than ", most,
                " spans; narrow --from, --to, --steps, or --ranks, or raise --max-spans"));
      ASSIGN_OR_RETURN(const SpanOf one, SpanAt(spans, i));
      take(one);
    }
    std::string next = FieldText(answer, "next");
    if (!next.empty() && next == page)
      return MalformedSpans("a page refers to itself as the next page");
    page = std::move(next);
  } while (!page.empty());
  return OkStatus();
}

}  // namespace pitwall::history_client
