#include "services/codec/cloudevents/notification_event.h"

#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/shared_fields.h"

namespace pitwall::cloudevents {
namespace {

constexpr std::string_view kDelivered = "io.pitwall.notification.delivered";
constexpr std::string_view kFailed = "io.pitwall.notification.failed";

}  // namespace

std::string EncodeNotification(const NotificationRecord& record) {
  JsonWriter out;
  WriteEnvelope(
      {record.id, record.taken ? kDelivered : kFailed, record.job, record.receiver, record.time},
      &out);
  out.BeginObject();
  out.Text("job", record.job);
  out.Key("issues");
  out.BeginArray();
  for (const std::string& issue : record.issues) out.String(issue);
  out.EndArray();
  out.Text("receiver", record.receiver);
  out.Text("kind", record.kind);
  out.Text("what", record.what);
  out.Text("error", record.error);
  out.EndObject();
  out.EndObject();
  return out.Take();
}

StatusOr<NotificationRecord> DecodeNotification(std::string_view json) {
  ASSIGN_OR_RETURN(const JsonReader in, JsonReader::Parse(json, kMaxEventBytes));
  NotificationRecord record;
  std::string type;
  ReadEnvelope(in, &record.id, &type, &record.time);
  if (type != kDelivered && type != kFailed) in.Fail("type", Cat("unknown type: ", Quote(type)));
  record.taken = type == kDelivered;
  const JsonReader data = in.Object("data");
  record.job = data.Required("job");
  record.issues = data.Strings("issues");
  if (record.issues.size() > kMaxNotificationIssues)
    data.Fail("issues", Cat("must list at most ", kMaxNotificationIssues, " issues"));
  record.receiver = data.Required("receiver");
  record.kind = data.String("kind");
  record.what = data.String("what");
  record.error = data.String("error");
  RETURN_IF_ERROR(in.status());
  return record;
}

}  // namespace pitwall::cloudevents
