#include "services/app/config/config_keys.h"

#include <algorithm>

#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/collector/collector.h"

namespace pitwall {

namespace {

void LogKeys(ConfigKeys& keys, LogConfig& log) {
  keys.Choice("kind", {"embedded", "kafka"}, &log.kind,
              "Log that stores the records: `embedded` is a log in `data_dir` for one process "
              "(standalone).");
  keys.Choice("fsync", {"always", "interval", "never"}, &log.fsync,
              "Embedded: time at which commits are flushed to disk.");
  keys.Duration("fsync_interval", &log.fsync_interval_ns,
                "Embedded: interval between two flushes with `fsync: interval`.");
  keys.Count("segment_bytes", {1 << 16, int64_t{1} << 32, "bytes"}, &log.segment_bytes,
             "Embedded: maximum size of a segment file.");
  keys.Duration("retention", &log.retention_ns, "Age at which telemetry may be deleted.");
  keys.Text("brokers", &log.brokers, "Kafka: `host:port,host:port`. Required with `kind: kafka`.");
  keys.TextMap("rdkafka", &log.rdkafka,
               "Kafka: settings of librdkafka, e.g. `security.protocol`. A value `env:NAME` or "
               "`file:PATH` is read from there. --print-config hides secrets.");
}

void TlsKeys(ConfigKeys& keys, TlsConfig& tls, std::string_view help) {
  keys.Section("tls", help, [&] {
    keys.Text("certificate", &tls.certificate, "PEM file of the certificate chain. Empty: no TLS.");
    keys.Text("key", &tls.key, "PEM file of the private key.");
    keys.Text("client_ca", &tls.client_ca,
              "PEM file of certificate authorities. Clients must present a certificate that one of "
              "them signed.");
    if (tls.certificate.empty() != tls.key.empty() ||
        (tls.certificate.empty() && !tls.client_ca.empty())) {
      keys.CheckKey("certificate", "tls requires both certificate and key");
    }
  });
}

constexpr std::string_view kTlsHelp =
    "The server reloads the files when they change. It supports TLS 1.2 and 1.3, ECDHE with AEAD "
    "only.";

void HttpKeys(ConfigKeys& keys, HttpConfig& http) {
  keys.Text("listen", &http.listen, "`address:port` of the HTTP server.");
  keys.Text(
      "token_file", &http.token_file,
      "File (or `env:NAME`) with the token of the role `view`, which can read. Empty: no token on "
      "loopback; on other addresses the service generates a token and prints it once.");
  keys.Text("act_token_file", &http.act_token_file,
            "File (or `env:NAME`) with the token of the role `act`, which can read and change. "
            "Empty: no changes over HTTP.");
  TlsKeys(keys, http.tls, kTlsHelp);
  keys.Count("max_connections", {1, 65536, "connections"}, &http.max_connections,
             "Maximum number of connections. Further connections are closed.");
  keys.Count("max_connections_per_address", {1, 65536, "connections"},
             &http.max_connections_per_address,
             "Maximum number of connections from one client address.");
  Positive(keys, "header_timeout", &http.header_timeout_ns,
           "Timeout from the first byte of a request to the end of its header, and of the TLS "
           "handshake.");
  Positive(keys, "body_timeout", &http.body_timeout_ns,
           "Timeout from the end of the header to the end of the body.");
  Positive(keys, "idle_timeout", &http.idle_timeout_ns, "Timeout between two requests.");
}

void GrpcKeys(ConfigKeys& keys, GrpcConfig& grpc) {
  keys.Text("listen", &grpc.listen, "`address:port` of the gRPC server.");
  keys.Text("token_file", &grpc.token_file,
            "File with the token of the role `view`, like `http.token_file`.");
  keys.Text("act_token_file", &grpc.act_token_file,
            "File with the token of the role `act`, like `http.act_token_file`.");
  TlsKeys(keys, grpc.tls, kTlsHelp);
  keys.Count("max_watches", {1, 4096, "streams"}, &grpc.max_watches,
             "Maximum number of WatchIssues streams. Further calls fail with RESOURCE_EXHAUSTED.");
  keys.Count("max_watches_per_address", {1, 4096, "streams"}, &grpc.max_watches_per_address,
             "Maximum number of WatchIssues streams from one client address.");
  Positive(keys, "handshake_timeout", &grpc.handshake_timeout_ns,
           "Timeout of the TLS handshake and the first bytes of HTTP/2.");
  Positive(keys, "idle_timeout", &grpc.idle_timeout_ns,
           "Time after which a connection without a call is closed.");
}

void RulesKeys(ConfigKeys& keys, RulesConfig& rules) {
  keys.Texts("files", &rules.files,
             "Rule files, or shipped packs as `pack:NAME`. Empty: `pack:default`.");
  keys.Text("overrides", &rules.overrides, "File with parameters of rules per job.");
  keys.Texts("baseline", &rules.baseline,
             "Summaries of finished jobs (`pitwall baseline`), or directories with summaries.");
  keys.Duration("evaluation_interval", &rules.evaluation_interval_ns,
                "Evaluation interval of rule groups that do not set one.");
  keys.Section("limits", "Limits on the cost of one rule. A rule beyond a limit is an error.", [&] {
    plan::RuleLimits& limits = rules.limits;
    keys.Count("state_bytes_per_series", {1, INT64_MAX, "bytes"}, &limits.state_bytes_per_series,
               "Maximum state of one rule for one series.");
    keys.Count("label_bytes_per_series", {1, INT64_MAX, "bytes"}, &limits.label_bytes_per_series,
               "Maximum estimated size of the labels that one rule computes for one series.");
    keys.Count("work_ns_per_series", {1, INT64_MAX, "nanoseconds"}, &limits.work_ns_per_series,
               "Maximum estimated work of one evaluation for one series.");
    keys.Count("subquery_depth", {1, 100, ""}, &limits.subquery_depth,
               "Maximum depth of nested subqueries.");
  });
}

void CollectorKeys(ConfigKeys& keys, CollectorConfig& collector) {
  keys.Text("node", &collector.node, "Name of this node. Empty: the host name.");
  keys.Duration("interval", &collector.interval_ns,
                "Sampling interval: 100ms, 200ms, 500ms, 1s, 5s, or 1m. SIGHUP reloads it.");
  if (const std::string problem = IntervalProblem(collector.interval_ns); !problem.empty())
    keys.CheckValue("interval", Cat("interval ", problem));
  keys.Text("socket", &collector.socket,
            "Unix socket for the training clients. Empty: `<data_dir>/collector.sock`.");
  keys.Text("socket_mode", &collector.socket_mode,
            "File mode of the socket: 0666 admits every user, 0660 the group.");
  if (const Status mode = ParseSocketMode(collector.socket_mode).status(); !mode.ok())
    keys.CheckValue("socket_mode", std::string(ToStd(mode.message())));
  keys.Text(
      "socket_group", &collector.socket_group,
      "Group of the socket, for `socket_mode: 0660`. Empty: the default group of the system.");
  keys.Section("limits", "Limits on the use of the collector by training processes.", [&] {
    CollectorLimitsConfig& limits = collector.limits;
    keys.Count("clients", {1, 65536, ""}, &limits.clients,
               "Maximum number of connections of all owners.");
    keys.Count("clients_per_owner", {1, 65536, ""}, &limits.clients_per_owner,
               "Maximum number of connections of one owner.");
    keys.Count(
        "bytes_per_second_per_owner", {64 << 10, int64_t{1} << 40, "bytes"},
        &limits.bytes_per_second_per_owner,
        "Maximum rate of data from one owner; a message counts as 256 bytes more. Beyond the limit "
        "the collector reads more slowly from the clients of the owner, and they wait.");
    keys.Count("jobs", {1, 10000, ""}, &limits.jobs, "Maximum number of jobs of all owners.");
    keys.Count("jobs_per_owner", {1, 10000, ""}, &limits.jobs_per_owner,
               "Maximum number of jobs of one owner.");
    keys.Duration("hello_timeout", &limits.hello_timeout_ns,
                  "Time after which a connection without a hello is closed; at least 1s.");
    keys.Duration("idle_timeout", &limits.idle_timeout_ns,
                  "Time after which an idle connection is closed; at least 5s, because clients "
                  "send a heartbeat every second.");
  });
  keys.Text("drop_dir", &collector.drop_dir,
            "Directory whose files declare jobs, e.g. written by a Slurm prolog. Empty: none.");
  keys.Section(
      "pods", "Source of the exit status of ranks in pods: the status of their containers.", [&] {
        PodsConfig& pods = collector.pods;
        keys.Text("url", &pods.url,
                  "URL that returns the pods of this node as a PodList: "
                  "`https://kubernetes.default.svc/api/v1/pods?fieldSelector=spec.nodeName={node}` "
                  "(permission: list pods) or `https://{node}:10250/pods` of the kubelet "
                  "(permission: get nodes/proxy); `{node}` is the name of the node. Requested only "
                  "after a rank in a pod has ended, and for owners. Empty: no requests.");
        keys.Bool("owners", &pods.owners,
                  "If the clients of a job name no object, take the Job or PyTorchJob that owns "
                  "the pod of its first rank. The executor of the cluster then stops the job, and "
                  "the executors of nodes do not. Requested once per pod.");
        keys.Text("token_file", &pods.token_file,
                  "File with the token; read for each request. Empty: no token.");
        keys.Text("ca_file", &pods.ca_file,
                  "Certificate authorities of the server. Empty: those of the system.");
      });
  keys.Text("spool_dir", &collector.spool_dir,
            "Directory of data that the log has not accepted yet. Empty: `<data_dir>/spool`.");
  keys.Count(
      "spool_bytes", {1 << 20, int64_t{1} << 40, "bytes"}, &collector.spool_bytes,
      "Maximum size of the spool. Beyond it the collector drops and counts the oldest data.");
  keys.Bool("gpus", &collector.gpus, "Read the GPUs of this node.");
  keys.List("jobs", "a job", &collector.jobs, "Jobs that run on this node.", [&](JobConfig& job) {
    keys.Text("id", &job.id, "ID of the job. Required.");
    keys.Text("name", &job.name, "Display name of the job.");
    keys.Text("owner", &job.owner,
              "Owner of the job: a user, `uid:<number>`, or `pod:<uid>`. Empty: the owner of the "
              "first client.");
    keys.Texts("members", &job.members, "Further owners whose processes belong to the job.");
    keys.Section(
        "reference",
        "Object that the executor stops. Empty: the object that the clients of the job name.", [&] {
          keys.Text("platform", &job.reference.platform,
                    "`kubernetes`, `slurm`, or the name of another platform.");
          keys.Text("cluster", &job.reference.cluster, "Name of the cluster.");
          keys.Text("namespace", &job.reference.namespace_name, "Namespace of the object.");
          keys.Text("kind", &job.reference.kind, "Kind of the object, e.g. `Job`, `PyTorchJob`.");
          keys.Text("name", &job.reference.name, "Name of the object.");
          keys.Text("uid", &job.reference.uid, "UID of the object, or number of a Slurm job.");
          keys.Text("queue", &job.reference.queue, "Queue or partition.");
        });
    if (job.id.empty()) keys.CheckKey("id", "a job requires an id");
    if (job.owner.empty() && !job.members.empty())
      keys.CheckKey("members", "members requires an owner; specify owner too");
  });
}

void ProcessorKeys(ConfigKeys& keys, ProcessorConfig& processor) {
  keys.Number("partitions", {1, 1024, ""}, &processor.partitions,
              "Number of partitions of the telemetry topic, if the processor creates it.");
  keys.Text("share", &processor.share,
            "Share of the partitions that this processor evaluates, as `<index>/<count>`: "
            "partitions whose number modulo count is index. For several processors on one Kafka. "
            "Empty: all partitions.");
  keys.Duration("commit_interval", &processor.commit_interval_ns,
                "Maximum time between two commits of results.");
  keys.Duration("snapshot_interval", &processor.snapshot_interval_ns,
                "Time between two snapshots of a job's state.");
  keys.Count("job_memory", {1 << 20, int64_t{1} << 40, "bytes"}, &processor.job_memory,
             "Maximum size of the data of one job that was read and cannot be applied yet. Beyond "
             "it the processor rejects and counts further data, and the rules of the job are in "
             "Error. A replay depends on this value: `backtest --format log` uses the default.");
  keys.Bool("clock_ticks", &processor.clock_ticks,
            "Write clock ticks to the log. Rules on silent sources need them.");
  keys.Bool("accept_log_reset", &processor.accept_log_reset,
            "For one start: continue after the log was deleted, replaced, or truncated below the "
            "committed position.");
}

void RemoteWriteKeys(ConfigKeys& keys, RemoteWriteConfig& remote) {
  keys.Text("url", &remote.url,
            "URL of the receiver: `http://prometheus:9090/api/v1/write`. Empty: no remote write.");
  keys.Text("token_file", &remote.token_file,
            "File (or `env:NAME`) with a bearer token; read for each request.");
  keys.Text("user", &remote.user, "User of basic authentication, instead of a token.");
  keys.Text("password_file", &remote.password_file,
            "File (or `env:NAME`) with the password; read for each request.");
  keys.Text("ca_file", &remote.ca_file,
            "Certificate authorities of the receiver. Empty: those of the system.");
  keys.Texts("metrics", &remote.metrics,
             "Regular expressions of metric names. A metric is sent if one of them matches its "
             "whole name. Empty: all metrics are sent.");
  keys.Texts("labels", &remote.labels,
             "Regular expressions of label names. Other labels are removed, except `pitwall_job`. "
             "If series of a source become equal, only the first is sent.");
  keys.Count("request_samples", {1, 1'000'000, "samples"}, &remote.request_samples,
             "Maximum number of samples per request.");
  Positive(keys, "timeout", &remote.timeout_ns, "Timeout of one request.");
  Positive(keys, "max_behind", &remote.max_behind_ns,
           "Age at which unsent samples are dropped and counted. Until then they wait in the log, "
           "so its retention should be longer.");
}

void InsightsKeys(ConfigKeys& keys, InsightsConfig& insights) {
  keys.Bool("enabled", &insights.enabled, "Keep the history of jobs in standalone.");
  keys.Text("dir", &insights.dir, "Directory of the history. Empty: `<data_dir>/insights`.");
  keys.Count("max_bytes", {int64_t{1} << 20, int64_t{1} << 50, "bytes"}, &insights.max_bytes,
             "Maximum size of the directory. Beyond it, raw samples of the oldest finished jobs "
             "are removed first, then all their data. A running job loses raw samples only if no "
             "finished job is left.");
  Positive(keys, "retention", &insights.retention_ns,
           "Time after the last data of a finished job at which it is removed.");
  keys.Count("memory", {1 << 20, int64_t{1} << 40, "bytes"}, &insights.memory,
             "Maximum size of the rows of all jobs in memory. Beyond it the largest window is "
             "written early.");
  keys.Text("archive_dir", &insights.archive_dir,
            "Directory of the archives of finished jobs. Empty: `<data_dir>/archives`.");
  keys.Text(
      "share", &insights.share,
      "Share of the partitions, and so of the jobs, that this process keeps, as `<index>/<count>`, "
      "like `processor.share`. For several processes on one Kafka. Empty: all partitions.");
  keys.Texts("peers", &insights.peers,
             "URLs of the HTTP servers of all shares by index, including this one: "
             "`http://insights-0:9870`. Each server answers queries for all shares. All of them "
             "use the same tokens. Required if the share has a count above 1.");
  keys.Text("peer_ca_file", &insights.peer_ca_file,
            "Certificate authorities of the peers. Empty: those of the system.");
  Positive(keys, "peer_timeout", &insights.peer_timeout_ns, "Timeout of a query to a peer.");
  keys.Section("remote_write", "Mirrors raw series by Prometheus remote write (docs/history.md).",
               [&] { RemoteWriteKeys(keys, insights.remote_write); });
}

void ExecutorKeys(ConfigKeys& keys, ExecutorConfig& executor) {
  keys.Bool("enabled", &executor.enabled,
            "Run the executor in standalone (like `--executor`). Without a policy with `mode: "
            "live` it only records its decisions.");
  keys.Count("budget", {0, 1000, "actions"}, &executor.budget,
             "Maximum number of live actions on all jobs per hour of event time. Further actions "
             "are refused.");
  keys.Duration("cool_down", &executor.cool_down_ns,
                "Minimum event time between two live actions on one job.");
  keys.Choice("stops", {"all", "processes", "cluster"}, &executor.stops,
              "Jobs that this executor stops: `processes` of its node, jobs of the `cluster` (one "
              "executor for all nodes), or `all`. It ignores other jobs; with `all` it refuses "
              "jobs that it cannot stop.");
  keys.List("exempt", "an exemption", &executor.exempt,
            "Jobs that are never stopped. All globs of an entry must match.",
            [&](ExemptConfig& exempt) {
              keys.Text("job", &exempt.job, "Glob that matches the ID or the name of the job.");
              keys.Text("namespace", &exempt.namespace_name, "Glob that matches the namespace.");
              keys.Text("owner", &exempt.owner, "Glob that matches the owner, e.g. `uid:0`.");
              if (exempt.job.empty() && exempt.namespace_name.empty() && exempt.owner.empty())
                keys.CheckKey("job", "an exemption requires job, namespace, or owner");
            });
  keys.Section("kubernetes", "Stops Jobs and PyTorchJobs (docs/actions.md).", [&] {
    KubernetesConfig& kubernetes = executor.kubernetes;
    keys.Bool("enabled", &kubernetes.enabled, "Stop jobs of Kubernetes.");
    keys.Text(
        "server", &kubernetes.server,
        "`https://host:port` of the API server. Empty: the API server of the executor's pod.");
    keys.Text("cluster", &kubernetes.cluster,
              "Name of this cluster in references of jobs. Jobs of other clusters are ignored.");
    keys.Text("token_file", &kubernetes.token_file, "File with the token; read for each call.");
    keys.Text("ca_file", &kubernetes.ca_file, "Certificate authorities of the server.");
    keys.Bool("delete", &kubernetes.delete_objects, "Delete the object instead of suspending it.");
    keys.Bool("list_pods", &kubernetes.list_pods,
              "Also stop objects without the annotation `pitwall.io/owner` if the owner of the job "
              "is one of their pods. Requires permission to list pods.");
  });
  keys.Section("slurm", "Stops jobs of Slurm with scancel (docs/install.md, section Slurm).", [&] {
    SlurmConfig& slurm = executor.slurm;
    keys.Bool("enabled", &slurm.enabled,
              "Stop jobs of Slurm. The service must run as SlurmUser, as root, or as an operator "
              "of Slurm.");
    keys.Text("cluster", &slurm.cluster,
              "Name of this cluster in references of jobs. Jobs of other clusters are ignored.");
    keys.Text("scancel", &slurm.scancel, "Path of scancel, or its name in PATH.");
    keys.Text(
        "scontrol", &slurm.scontrol,
        "Path of scontrol, or its name in PATH. It returns the owner and the state of a job.");
    keys.Duration("timeout", &slurm.timeout_ns, "Timeout of one call.");
  });
  keys.Section("webhook", "Requests another program to stop jobs (docs/actions.md).", [&] {
    StopWebhookConfig& webhook = executor.webhook;
    keys.Text("url", &webhook.url, "URL to which decisions are posted. Empty: no webhook.");
    keys.Texts("secrets", &webhook.secrets,
               "Locations of signing secrets: `file:PATH` or `env:NAME`. Empty: unsigned.");
    keys.Texts("platforms", &webhook.platforms,
               "Globs of the platforms whose jobs the webhook stops. `*` does not match processes "
               "of nodes.");
    keys.Bool("allow_insecure", &webhook.allow_insecure,
              "Allow plain `http` to addresses other than loopback.");
    keys.Texts("allowed_cidrs", &webhook.allowed_cidrs,
               "Networks that the webhook may be in, besides public addresses and loopback.");
  });
  keys.List("policies", "a policy", &executor.policies,
            "Actions that rules may cause. The first policy that matches a rule applies. A rule "
            "without a policy causes a dry run if its label `action` is `stop`, otherwise nothing.",
            [&](PolicyConfig& policy) {
              keys.Text("rule", &policy.rule,
                        "Glob that matches `pack/group/alert`, with `*` and `?`. `*` also matches "
                        "slashes. Required.");
              keys.Choice("mode", {"off", "dry_run", "live"}, &policy.mode,
                          "`live` stops the job (sends SIGTERM to its processes, or suspends its "
                          "object); `dry_run` only records the decision.");
              keys.Duration("grace", &policy.grace_ns,
                            "Time after the stop at which the outcome is recorded, if the job has "
                            "not ended before.");
              if (policy.rule.empty())
                keys.CheckKey("rule",
                              "a policy requires a rule; specify a glob for pack/group/alert");
            });
}

}  // namespace

std::string IntervalProblem(int64_t interval_ns) {
  const std::vector<int64_t>& known = collector::Collector::Intervals();
  if (std::find(known.begin(), known.end(), interval_ns) != known.end()) return {};
  std::vector<std::string> names;
  for (const int64_t interval : known) names.push_back(FormatDuration(interval));
  return Cat("must be one of ", Join(names, ", "), " (got ", FormatDuration(interval_ns), ")");
}

void VisitConfig(ConfigKeys& keys, Config& config) {
  keys.Text("data_dir", &config.data_dir,
            "Directory of the embedded log, the spool, and the socket.");
  keys.Choice("log_level", {"debug", "info", "warning", "error"}, &config.log_level,
              "Minimum level of log lines on stderr.");
  keys.Duration("reload_interval", &config.reload_interval_ns,
                "Interval of checks for changes of the configuration and rule files. A change that "
                "two consecutive checks see is reloaded, as by SIGHUP. `0s`: SIGHUP only.");
  keys.Text("external_url", &config.external_url,
            "URL at which users reach the HTTP server, e.g. `https://pitwall.example`. Links in "
            "webhooks and responses start with it. Empty: links are paths.");
  keys.Section("memory", "Limits on the memory of the process.", [&] {
    keys.Count("budget", {0, int64_t{1} << 50, "bytes"}, &config.memory.budget,
               "Maximum memory of all jobs. Above 90% of it, the partition with the most memory "
               "stops reading; at the limit all partitions stop. 0: 60% of the minimum of RAM, "
               "cgroup limit, and `ulimit -v`.");
  });
  keys.Section("log", "The log between the services.", [&] { LogKeys(keys, config.log); });
  keys.Section("http",
               "Serves `/metrics`, `/healthz`, `/readyz`, `/metrics/issues`, and the history "
               "(docs/api.md, docs/promql-api.md).",
               [&] { HttpKeys(keys, config.http); });
  keys.Section("grpc", "The IssueService of the notifier.", [&] { GrpcKeys(keys, config.grpc); });
  keys.Section("rules", "Rules that the processor evaluates. SIGHUP reloads the files.",
               [&] { RulesKeys(keys, config.rules); });
  keys.Section("collector", "Collects metrics. One collector runs per node.",
               [&] { CollectorKeys(keys, config.collector); });
  keys.Section("processor", "Evaluates the rules.", [&] { ProcessorKeys(keys, config.processor); });
  keys.Section("notifier", "Sends notifications to people and machines.",
               [&] { NotifierKeys(keys, config.notifier); });
  keys.Section("executor", "Stops jobs according to policies.",
               [&] { ExecutorKeys(keys, config.executor); });
  keys.Section("insights", "Keeps the history of all jobs.",
               [&] { InsightsKeys(keys, config.insights); });
}

}  // namespace pitwall
