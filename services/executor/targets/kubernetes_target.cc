#include "services/executor/targets/kubernetes_target.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "services/base/log.h"
#include "services/base/system/files.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/codec/json/json_reader.h"
#include "services/codec/json/json_writer.h"

namespace pitwall::executor {

using codec::JsonReader;
using codec::JsonWriter;

struct KubernetesTarget::Kind {
  std::string_view kind, group_version, plural;
  std::string_view suspend;            // merge patch for the spec
  std::vector<std::string_view> over;  // condition types that mean that the object has finished
  std::vector<std::string_view>
      groups;  // keys in status.replicaStatuses; if empty, use the status field `active`
};

namespace {

constexpr size_t kMaxReplyBytes = size_t{8} << 20;
constexpr size_t kMaxNameBytes = 253;
constexpr int kMaxPages = 20;
// Label on objects that Kueue admits and suspends. Kueue reverts suspensions by other components.
constexpr std::string_view kQueueLabel = "kueue.x-k8s.io/queue-name";

// Returns true for a valid object name, which can safely be used as a path segment.
bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name.find("..") == name.npos &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
         });
}

bool IsUid(std::string_view uid) {
  return !uid.empty() && uid.size() <= 64 && std::all_of(uid.begin(), uid.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

std::string Named(const JobReference& r) { return Cat(r.kind, " ", r.namespace_name, "/", r.name); }

// Returns the server's message from the body of an error response.
std::string MessageOf(const HttpReply& reply) {
  const StatusOr<JsonReader> in = JsonReader::Parse(reply.body, kMaxReplyBytes);
  std::string message = in.ok() ? in->String("message") : "";
  if (message.empty()) message = reply.body.substr(0, 300);
  return TerminalLine(message);
}

// Returns OK for 2xx, or an error with the reason for the failure.
Status Fault(const HttpReply& reply, std::string_view verb, const JobReference& r) {
  if (reply.status >= 200 && reply.status < 300) return OkStatus();
  const std::string text =
      Cat("response ", reply.status, " to ", verb, " ", Named(r), ": ", MessageOf(reply));
  switch (reply.status) {
    case 401:
      return absl::UnauthenticatedError(
          ToAbsl(Cat(text, "; check the token in executor.kubernetes.token_file")));
    case 403:
      return absl::PermissionDeniedError(ToAbsl(Cat(text, "; grant permission to ", verb,
                                                    " it (executor.cluster.namespaces in the "
                                                    "chart)")));
    case 404:
      return NotFound(Cat(Named(r), " not found"));
    default:
      return FailedPrecondition(text);
  }
}

struct Object {
  std::string uid, owner, queue, over;
  bool suspended = false, deleted = false;
  uint64_t active = 0;  // number of running or terminating pods
};

}  // namespace

const KubernetesTarget::Kind* KubernetesTarget::Find(std::string_view kind) {
  static const std::array<Kind, 2> kinds = {
      Kind{"Job", "apis/batch/v1", "jobs", R"({"suspend":true})", {"Complete", "Failed"}, {}},
      Kind{"PyTorchJob",
           "apis/kubeflow.org/v1",
           "pytorchjobs",
           R"({"runPolicy":{"suspend":true}})",
           {"Succeeded", "Failed"},
           {"Master", "Worker"}}};
  for (const Kind& known : kinds) {
    if (known.kind == kind) return &known;
  }
  return nullptr;
}

StatusOr<const KubernetesTarget::Kind*> KubernetesTarget::KindOf(const JobReference& reference) {
  const Kind* const kind = Find(reference.kind);
  if (kind == nullptr) {
    return InvalidArgument(
        Cat("objects of kind ", Quote(TerminalLine(reference.kind)),
            " are not supported; set PITWALL_KIND in the pod template to Job or PyTorchJob"));
  }
  const auto bad = [&](std::string_view what, const std::string& value, std::string_view variable) {
    return InvalidArgument(Cat("invalid ", what, " in the job's reference (got ",
                               Quote(TerminalLine(value)), "); set ", variable,
                               " in the pod template"));
  };
  if (!IsName(reference.namespace_name))
    return bad("namespace", reference.namespace_name, "POD_NAMESPACE");
  if (!IsName(reference.name)) return bad("name", reference.name, "PITWALL_JOB");
  if (!IsUid(reference.uid)) return bad("uid", reference.uid, "PITWALL_JOB_UID");
  return kind;
}

StopTarget::Claim KubernetesTarget::Claims(const JobReference& reference) const {
  if (reference.platform != "kubernetes") return Claim::kNo;
  const bool other = !options_.cluster.empty() && !reference.cluster.empty() &&
                     reference.cluster != options_.cluster;
  return other ? Claim::kElsewhere : Claim::kMine;
}

std::string KubernetesTarget::Path(const Kind& kind, const JobReference& r) const {
  return Cat("/", kind.group_version, "/namespaces/", r.namespace_name, "/", kind.plural, "/",
             r.name);
}

StatusOr<HttpReply> KubernetesTarget::Call(std::string_view method, const std::string& path,
                                           std::string_view content_type, const std::string& body) {
  return caller_.Perform(
      [&]() -> StatusOr<HttpCall> {
        ASSIGN_OR_RETURN(const std::string token, ReadFile(options_.token_file, 64 << 10));
        HttpCall call;
        call.method = std::string(method);
        call.url = Cat(options_.server, path);
        call.headers = {{"authorization", Cat("Bearer ", Trim(token))}};
        const bool list = path.find("/pods?") != path.npos;
        call.headers.emplace_back(
            "accept", list ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
                           : "application/json");
        if (!content_type.empty()) call.headers.emplace_back("content-type", content_type);
        call.body = body;
        call.max_response_bytes = kMaxReplyBytes;
        return call;
      },
      /*again_on_401=*/true);
}

namespace {

StatusOr<Object> ReadObject(const HttpReply& reply, const JobReference& r,
                            const std::vector<std::string_view>& over,
                            const std::vector<std::string_view>& groups) {
  RETURN_IF_ERROR(Fault(reply, "get", r));
  const StatusOr<JsonReader> in = JsonReader::Parse(reply.body, kMaxReplyBytes);
  if (!in.ok()) return Annotate(in.status(), Cat("response to get ", Named(r)));
  Object object;
  const JsonReader metadata = in->Object("metadata");
  object.uid = metadata.String("uid");
  object.deleted = metadata.Has("deletionTimestamp");
  object.owner = metadata.Object("annotations").String(kOwnerAnnotation);
  object.queue = metadata.Object("labels").String(kQueueLabel);
  const JsonReader spec = in->Object("spec");
  object.suspended = spec.Bool("suspend") || spec.Object("runPolicy").Bool("suspend");
  const JsonReader status = in->Object("status");
  object.active = status.Uint("active") + status.Uint("terminating");
  for (const std::string_view group : groups)
    object.active += status.Object("replicaStatuses").Object(group).Uint("active");
  status.ForEachObject("conditions", [&](const JsonReader& condition) {
    const std::string type = condition.String("type");
    if (condition.String("status") == "True" &&
        std::find(over.begin(), over.end(), type) != over.end()) {
      object.over = type;
    }
  });
  if (!in->status().ok()) return Annotate(in->status(), Cat("response to get ", Named(r)));
  return object;
}

}  // namespace

Status KubernetesTarget::Change(const Kind& kind, const JobReference& r, bool dry) {
  const std::string path = Cat(Path(kind, r), dry && !options_.delete_objects ? "?dryRun=All" : "");
  JsonWriter body;
  body.BeginObject();
  if (options_.delete_objects) {
    body.Text("kind", "DeleteOptions");
    body.Text("apiVersion", "v1");
    body.Text("propagationPolicy", "Background");
    if (dry) {  // with a body, the server ignores query options and would delete the object
      body.Key("dryRun");
      body.BeginArray();
      body.String("All");
      body.EndArray();
    }
    body.Key("preconditions");
  } else {
    body.Key("spec");
    body.Raw(kind.suspend);
    // The server rejects a patch that would change the uid, so the patch applies only to the object
    // with this uid.
    body.Key("metadata");
  }
  body.BeginObject();
  body.Text("uid", r.uid);
  body.EndObject();
  body.EndObject();
  ASSIGN_OR_RETURN(const HttpReply reply,
                   options_.delete_objects
                       ? Call("DELETE", path, "application/json", body.Take())
                       : Call("PATCH", path, "application/merge-patch+json", body.Take()));
  // An admission webhook without dry-run support replies with 400. Only the real call can test such
  // a webhook.
  if (dry && !options_.delete_objects && reply.status == 400) return OkStatus();
  return Fault(reply, options_.delete_objects ? "delete" : "patch", r);
}

StatusOr<bool> KubernetesTarget::IsOfPod(const JobReference& r, std::string_view pod) {
  const std::string selector = r.kind == "Job"
                                   ? Cat("batch.kubernetes.io%2Fcontroller-uid%3D", r.uid)
                                   : Cat("training.kubeflow.org%2Fjob-name%3D", r.name);
  std::string next;
  for (int page = 0; page < kMaxPages; ++page) {
    ASSIGN_OR_RETURN(const HttpReply reply, Call("GET",
                                                 Cat("/api/v1/namespaces/", r.namespace_name,
                                                     "/pods?limit=500&labelSelector=", selector,
                                                     next.empty() ? "" : "&continue=", next),
                                                 "", ""));
    RETURN_IF_ERROR(Fault(reply, "list the pods of", r));
    const StatusOr<JsonReader> in = JsonReader::Parse(reply.body, kMaxReplyBytes);
    if (!in.ok()) return Annotate(in.status(), "response to list pods");
    bool found = false;
    in->ForEachObject("items", [&](const JsonReader& item) {
      const JsonReader metadata = item.Object("metadata");
      if (metadata.String("uid") != pod) return;
      metadata.ForEachObject("ownerReferences", [&](const JsonReader& owner) {
        found = found || owner.String("uid") == r.uid;
      });
    });
    next = in->Object("metadata").String("continue");
    if (!in->status().ok()) return Annotate(in->status(), "response to list pods");
    if (found) return true;
    if (next.empty()) return false;
    // The token is part of the URL, so it must not contain characters that are special there.
    if (next.find_first_of(" &#?/") != next.npos)
      return Internal("list pods: malformed continue token");
  }
  return FailedPrecondition(Cat(Named(r), " has too many pods (limit ", kMaxPages * 500, ")"));
}

Status KubernetesTarget::CheckOwner(const ActionEvent& stop, std::string_view annotated) {
  if (stop.owner.empty()) {
    return absl::PermissionDeniedError(
        "the job's owner is unknown, so the job is not stopped (docs/security.md)");
  }
  if (annotated == stop.owner) return OkStatus();
  const std::string named = Named(stop.target);
  constexpr std::string_view kPod = "pod:";
  if (annotated.empty() && options_.list_pods && StartsWith(stop.owner, kPod)) {
    ASSIGN_OR_RETURN(const bool is_of_pod,
                     IsOfPod(stop.target, std::string_view(stop.owner).substr(kPod.size())));
    if (is_of_pod) return OkStatus();
    return absl::PermissionDeniedError(
        ToAbsl(Cat(named, " does not own ", stop.owner, ", which owns the job")));
  }
  return absl::PermissionDeniedError(ToAbsl(Cat(
      named,
      annotated.empty() ? " has no owner annotation" : Cat(" belongs to ", TerminalLine(annotated)),
      "; the job belongs to ", stop.owner, "; annotate the object with ", kOwnerAnnotation,
      options_.list_pods ? ""
                         : ", or let the executor list pods (executor.kubernetes.list_pods)")));
}

StopCheck KubernetesTarget::Check(const ActionEvent& stop) {
  const auto refuse = [](const Status& status, bool other_owner = false) {
    return StopCheck{.refusal = std::string(ToStd(status.message())), .other_owner = other_owner};
  };
  const JobReference& r = stop.target;
  const StatusOr<const Kind*> kind = KindOf(r);
  if (!kind.ok()) return refuse(kind.status());
  const StatusOr<HttpReply> reply = Call("GET", Path(**kind, r), "", "");
  if (!reply.ok()) return refuse(Annotate(reply.status(), Cat("get ", Named(r))));
  const StatusOr<Object> object = ReadObject(*reply, r, (*kind)->over, (*kind)->groups);
  if (!object.ok()) return refuse(object.status());
  if (object->uid != r.uid) {
    return {.refusal = Cat(Named(r), " was replaced by another object: its uid is ",
                           TerminalLine(object->uid), ", but the job's is ", r.uid)};
  }
  if (const Status owner = CheckOwner(stop, object->owner); !owner.ok())
    return refuse(owner, owner.code() == absl::StatusCode::kPermissionDenied);
  if (!object->over.empty())
    return {.refusal = Cat(Named(r), " has finished: condition ", object->over, " is true")};
  if (!object->queue.empty() && !options_.delete_objects) {
    return {.refusal =
                Cat(Named(r), " is in queue ", Quote(TerminalLine(object->queue)),
                    " of Kueue, which would revert a suspension; use executor.kubernetes.delete, "
                    "or a webhook that deactivates its Workload")};
  }
  if (const Status dry = Change(**kind, r, /*dry=*/true); !dry.ok()) return refuse(dry);
  const std::string_view state = object->deleted     ? " is already being deleted"
                                 : object->suspended ? " is already suspended"
                                                     : " is not suspended";
  return {.found = Cat(Named(r), " (uid ", r.uid, ")", state, " and belongs to ", stop.owner,
                       ", the owner of the job")};
}

StatusOr<std::string> KubernetesTarget::Stop(const ActionEvent& stop) {
  ASSIGN_OR_RETURN(const Kind* const kind, KindOf(stop.target));
  RETURN_IF_ERROR(Change(*kind, stop.target, /*dry=*/false));
  const std::string done =
      Cat(Named(stop.target), options_.delete_objects ? " deleted" : " suspended");
  PITWALL_LOG(kWarning, "executor", done, ": job ", stop.job, ": ", stop.rule);
  return done;
}

StatusOr<StopEffect> KubernetesTarget::Effect(const ActionEvent& stop) {
  const JobReference& r = stop.target;
  ASSIGN_OR_RETURN(const Kind* const kind, KindOf(r));
  ASSIGN_OR_RETURN(const HttpReply reply, Call("GET", Path(*kind, r), "", ""));
  if (reply.status == 404) return StopEffect{.stopped = true, .text = "the object is gone"};
  ASSIGN_OR_RETURN(const Object object, ReadObject(reply, r, kind->over, kind->groups));
  if (object.uid != r.uid)
    return StopEffect{.stopped = true,
                      .text = "the object is gone, and another object has its name"};
  if (!object.over.empty())
    return StopEffect{.stopped = true, .text = Cat("condition ", object.over, " is true")};
  if (!object.suspended && !object.deleted)
    return StopEffect{.text = Cat(Named(r), " is not suspended")};
  if (object.active > 0)
    return StopEffect{.text = Cat(Named(r), " still has ", object.active, " active pods")};
  return StopEffect{.stopped = true, .text = "no pod is active"};
}

}  // namespace pitwall::executor
