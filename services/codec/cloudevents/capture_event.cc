#include "services/codec/cloudevents/capture_event.h"

#include "services/base/text/stable_hash.h"
#include "services/base/text/strings.h"
#include "services/codec/cloudevents/cloud_event.h"
#include "services/codec/cloudevents/shared_fields.h"
#include "services/model/job.h"

namespace pitwall::cloudevents {
namespace {

constexpr std::string_view kRequested = "io.pitwall.capture.requested";
constexpr std::string_view kTaken = "io.pitwall.capture.taken";

void WriteStrings(std::string_view key, const std::vector<std::string>& strings, JsonWriter* out) {
  if (strings.empty()) return;
  out->Key(key);
  out->BeginArray();
  for (const std::string& text : strings) out->String(text);
  out->EndArray();
}

void WriteUint(std::string_view key, uint64_t value, JsonWriter* out) {
  out->Key(key);
  out->Uint(value);
}

void WriteThread(const CapturedThread& thread, JsonWriter* out) {
  out->BeginObject();
  WriteUint("id", thread.id, out);
  out->Text("name", thread.name);
  if (thread.main) {
    out->Key("main");
    out->Bool(true);
  }
  WriteStrings("frames", thread.frames, out);
  out->Text("system", thread.system);
  out->EndObject();
}

CapturedThread ReadThread(const JsonReader& in) {
  CapturedThread thread;
  thread.id = in.Uint("id");
  thread.name = in.String("name");
  thread.main = in.Bool("main");
  thread.frames = in.Strings("frames");
  thread.system = in.String("system");
  return thread;
}

std::string ReadType(const JsonReader& in, std::string_view wanted, std::string* id,
                     EventTime* time) {
  std::string type;
  ReadEnvelope(in, id, &type, time);
  if (type != wanted) in.Fail("type", Cat("unknown type: ", Quote(type)));
  return type;
}

// In the client wire format, ranks are at most 2^32 - 1.
int64_t ReadNumber(const JsonReader& in, std::string_view key) {
  const uint64_t number = in.Uint(key);
  if (number > INT64_MAX) in.Fail(key, "must be less than 2^63");
  return number > INT64_MAX ? 0 : static_cast<int64_t>(number);
}

}  // namespace

std::string EncodeCaptureRequest(const CaptureRequest& request) {
  JsonWriter out;
  WriteEnvelope({request.id, kRequested, request.job, "capture", request.expires}, &out);
  out.BeginObject();
  out.Text("job", request.job);
  out.Key("ranks");
  out.BeginArray();
  for (const int64_t rank : request.ranks) out.String(Cat(rank));
  out.EndArray();
  out.Text("issue", request.issue);
  out.Text("principal", request.principal);
  WriteTime("expires", request.expires.ns(), &out);
  out.EndObject();
  out.EndObject();
  return out.Take();
}

StatusOr<CaptureRequest> DecodeCaptureRequest(std::string_view json) {
  ASSIGN_OR_RETURN(const JsonReader in, JsonReader::Parse(json, kMaxEventBytes));
  CaptureRequest request;
  EventTime time;
  ReadType(in, kRequested, &request.id, &time);
  const JsonReader data = in.Object("data");
  request.job = data.Required("job");
  const std::vector<std::string> ranks = data.Strings("ranks");
  if (ranks.size() > kMaxCaptureRanks)
    data.Fail("ranks", Cat("must list at most ", kMaxCaptureRanks, " ranks"));
  for (const std::string& text : ranks) {
    const auto rank = ParseInt(text);
    if (!rank.has_value() || *rank < 0)
      data.Fail("ranks", Cat("must be non-negative integers (got ", Quote(text), ")"));
    request.ranks.push_back(rank.value_or(0));
  }
  request.issue = data.String("issue");
  request.principal = data.String("principal");
  request.expires = EventTime::FromNs(data.Time("expires"));
  RETURN_IF_ERROR(in.status());
  return request;
}

std::string EncodeRankCapture(const RankCapture& c) {
  JsonWriter out;
  // The event ID depends only on the request, node, and rank, so a resent capture has the same ID.
  const std::string id =
      StableHashHex(Cat("capture\xff", c.request, "\xff", c.node, "\xff", c.rank));
  WriteEnvelope({id, kTaken, c.job, "capture", c.time}, &out);
  out.BeginObject();
  out.Text("request", c.request);
  WriteJob(c.job, c.job_name, c.owner, JobReference(), &out);
  out.Text("issue", c.issue);
  out.Text("principal", c.principal);
  WriteUint("rank", static_cast<uint64_t>(c.rank), &out);
  WriteUint("world_size", static_cast<uint64_t>(c.world_size), &out);
  out.Text("node", c.node);
  WriteUint("pid", static_cast<uint64_t>(c.pid), &out);
  out.Text("state", CaptureStateName(c.state));
  out.Text("source", c.source);
  out.Text("why_system", c.why_system);
  out.Text("phase", c.look.phase);
  out.Text("mode", c.look.mode);
  WriteUint("step_plus_one", c.look.step_plus_one, &out);
  if (c.look.collective.has_value()) {
    out.Key("collective");
    out.BeginObject();
    out.Text("group", c.look.collective->group);
    out.Text("operation", c.look.collective->operation);
    WriteUint("sequence", c.look.collective->sequence, &out);
    WriteUint("bytes", c.look.collective->bytes, &out);
    out.EndObject();
  }
  out.Key("cpu_seconds");
  out.Double(c.look.cpu_seconds);
  out.Key("cpu_share");
  out.Double(c.change.cpu_share);
  if (c.look.io_bytes.has_value()) WriteUint("io_bytes", *c.look.io_bytes, &out);
  if (c.change.io_bytes.has_value()) WriteUint("io_bytes_moved", *c.change.io_bytes, &out);
  if (c.change.same_stacks.has_value()) {
    out.Key("same_stacks");
    out.Bool(*c.change.same_stacks);
  }
  out.Key("went_on");
  out.Bool(c.change.went_on);
  out.Key("stopped");
  out.Bool(c.look.stopped);
  out.Key("python");
  out.Bool(c.look.python);
  out.Key("threads");
  out.BeginArray();
  for (const CapturedThread& thread : c.look.threads) WriteThread(thread, &out);
  out.EndArray();
  WriteStrings("operators", c.operators, &out);
  WriteUint("left_out", c.left_out, &out);
  out.EndObject();
  out.EndObject();
  return out.Take();
}

StatusOr<RankCapture> DecodeRankCapture(std::string_view json) {
  ASSIGN_OR_RETURN(const JsonReader in, JsonReader::Parse(json, kMaxEventBytes));
  RankCapture c;
  std::string id;
  ReadType(in, kTaken, &id, &c.time);
  const JsonReader data = in.Object("data");
  c.request = data.Required("request");
  const JsonReader job = data.Object("job");
  c.job = job.Required("id");
  c.job_name = job.String("name");
  c.owner = job.String("owner");
  c.issue = data.String("issue");
  c.principal = data.String("principal");
  c.rank = ReadNumber(data, "rank");
  c.world_size = ReadNumber(data, "world_size");
  c.node = data.String("node");
  c.pid = ReadNumber(data, "pid");
  const std::string state_name = data.Required("state");
  const std::optional<CaptureState> state = ParseCaptureState(state_name);
  if (!state) data.Fail("state", Cat("unknown state: ", Quote(state_name)));
  c.state = state.value_or(CaptureState::kBlocked);
  c.source = data.String("source");
  c.why_system = data.String("why_system");
  c.look.phase = data.String("phase");
  c.look.mode = data.String("mode");
  c.look.step_plus_one = data.Uint("step_plus_one");
  if (data.Has("collective")) {
    const JsonReader open = data.Object("collective");
    c.look.collective = OpenCollective{open.String("group"), open.String("operation"),
                                       open.Uint("sequence"), open.Uint("bytes")};
  }
  c.look.cpu_seconds = data.Double("cpu_seconds");
  c.change.cpu_share = data.Double("cpu_share");
  if (data.Has("io_bytes")) c.look.io_bytes = data.Uint("io_bytes");
  if (data.Has("io_bytes_moved")) c.change.io_bytes = data.Uint("io_bytes_moved");
  if (data.Has("same_stacks")) c.change.same_stacks = data.Bool("same_stacks");
  c.change.went_on = data.Bool("went_on");
  c.look.stopped = data.Bool("stopped");
  c.look.python = data.Bool("python");
  data.ForEachObject(
      "threads", [&c](const JsonReader& thread) { c.look.threads.push_back(ReadThread(thread)); });
  c.operators = data.Strings("operators");
  c.left_out = data.Uint("left_out");
  RETURN_IF_ERROR(in.status());
  return c;
}

}  // namespace pitwall::cloudevents
