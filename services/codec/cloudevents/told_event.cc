#include "services/codec/cloudevents/told_event.h"

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/shared_fields.h"

namespace pitwall::cloudevents {
namespace {

constexpr std::string_view kTold = "io.pitwall.notice.told";
constexpr std::string_view kFailed = "io.pitwall.notice.failed";

}  // namespace

std::string EncodeToldNotice(const ToldNotice& told) {
  JsonWriter out;
  WriteEnvelope({told.id, told.taken ? kTold : kFailed, told.job, told.receiver, told.time_ns},
                &out);
  out.BeginObject();
  out.Text("job", told.job);
  out.Key("issues");
  out.BeginArray();
  for (const std::string& issue : told.issues) out.String(issue);
  out.EndArray();
  out.Text("receiver", told.receiver);
  out.Text("kind", told.kind);
  out.Text("what", told.what);
  out.Text("error", told.error);
  out.EndObject();
  out.EndObject();
  return out.Take();
}

StatusOr<ToldNotice> DecodeToldNotice(std::string_view json) {
  ASSIGN_OR_RETURN(const JsonReader in, JsonReader::Parse(json, kMaxEventBytes));
  ToldNotice told;
  std::string type;
  ReadEnvelope(in, &told.id, &type, &told.time_ns);
  if (type != kTold && type != kFailed) in.Fail("type", Cat("unknown: ", Quote(type)));
  told.taken = type == kTold;
  const JsonReader data = in.Object("data");
  told.job = data.Required("job");
  told.issues = data.Strings("issues");
  if (told.issues.size() > kMaxToldIssues) data.Fail("issues", Cat("more than ", kMaxToldIssues));
  told.receiver = data.Required("receiver");
  told.kind = data.String("kind");
  told.what = data.String("what");
  told.error = data.String("error");
  RETURN_IF_ERROR(in.status());
  return told;
}

}  // namespace pitwall::cloudevents
