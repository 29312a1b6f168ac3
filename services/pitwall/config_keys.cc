#include "services/pitwall/config_keys.h"

#include <algorithm>

#include "services/base/duration.h"
#include "services/base/text/strings.h"
#include "services/collector/collector.h"

namespace pitwall {

void Positive(ConfigKeys& keys, std::string_view key, int64_t* nanoseconds, std::string_view help) {
  keys.Duration(key, nanoseconds, help);
  if (*nanoseconds < kNanosPerMilli) keys.CheckValue(key, Cat(key, " must be at least 1ms"));
}

namespace {

void LogKeys(ConfigKeys& keys, LogConfig& log) {
  keys.Choice("kind", {"embedded", "kafka"}, &log.kind,
              "Where records go: `embedded` is a log in `data_dir` for one process (standalone).");
  keys.Choice("fsync", {"always", "interval", "never"}, &log.fsync,
              "Embedded: when commits are flushed to the disk.");
  keys.Duration("fsync_interval", &log.fsync_interval_ns,
                "Embedded: time between two flushes with `fsync: interval`.");
  keys.Count("segment_bytes", {1 << 16, int64_t{1} << 32, "bytes"}, &log.segment_bytes,
             "Embedded: size at which a new segment file begins.");
  keys.Duration("retention", &log.retention_ns, "Age at which telemetry may be deleted.");
  keys.Text("brokers", &log.brokers, "Kafka: `host:port,host:port`. Required with `kind: kafka`.");
  keys.TextMap("rdkafka", &log.rdkafka,
               "Kafka: settings for librdkafka, e.g. `security.protocol`. A value `env:NAME` or "
               "`file:PATH` is read from there. Printing hides secrets.");
}

void TlsKeys(ConfigKeys& keys, TlsConfig& tls, std::string_view help) {
  keys.Section("tls", help, [&] {
    keys.Text("certificate", &tls.certificate, "PEM file of the certificate chain. Empty: no TLS.");
    keys.Text("key", &tls.key, "PEM file of the private key.");
    keys.Text("client_ca", &tls.client_ca,
              "PEM file of certificate authorities. Clients must show a certificate of one.");
    if (tls.certificate.empty() != tls.key.empty() ||
        (tls.certificate.empty() && !tls.client_ca.empty())) {
      keys.CheckKey("certificate", "tls needs both certificate and key");
    }
  });
}

constexpr std::string_view kTlsHelp =
    "The server reads the files again when they change. TLS 1.2 and 1.3, ECDHE with AEAD only.";

void HttpKeys(ConfigKeys& keys, HttpConfig& http) {
  keys.Text("listen", &http.listen, "`address:port` of the HTTP server.");
  keys.Text("token_file", &http.token_file,
            "File with the token of the role `view` (or `env:NAME`), which reads. Empty: none on "
            "loopback; beyond it the service makes one and prints it once.");
  keys.Text("act_token_file", &http.act_token_file,
            "The same of the role `act`, which changes something and reads too. Without it nobody "
            "acts over HTTP.");
  TlsKeys(keys, http.tls, kTlsHelp);
  keys.Count("max_connections", {1, 65536, "connections"}, &http.max_connections,
             "Connections at a time. Beyond it new ones are closed.");
  keys.Count("max_connections_per_address", {1, 65536, "connections"},
             &http.max_connections_per_address, "The same from one client address.");
  Positive(keys, "header_timeout", &http.header_timeout_ns,
           "Time from the first byte of a request to the end of its header, and for the TLS "
           "handshake.");
  Positive(keys, "body_timeout", &http.body_timeout_ns,
           "Time from the end of the header to the end of the body.");
  Positive(keys, "idle_timeout", &http.idle_timeout_ns, "Time between two requests.");
}

void GrpcKeys(ConfigKeys& keys, GrpcConfig& grpc) {
  keys.Text("listen", &grpc.listen, "`address:port` of the gRPC server.");
  keys.Text("token_file", &grpc.token_file,
            "File with the token of the role `view`, as `http.token_file`.");
  keys.Text("act_token_file", &grpc.act_token_file,
            "File with the token of the role `act`, as `http.act_token_file`.");
  TlsKeys(keys, grpc.tls, kTlsHelp);
  keys.Count("max_watches", {1, 4096, "streams"}, &grpc.max_watches,
             "WatchIssues streams at a time. Beyond it a call fails with RESOURCE_EXHAUSTED.");
  keys.Count("max_watches_per_address", {1, 4096, "streams"}, &grpc.max_watches_per_address,
             "The same from one client address.");
  Positive(keys, "handshake_timeout", &grpc.handshake_timeout_ns,
           "Time for the TLS handshake and the first bytes of HTTP/2.");
  Positive(keys, "idle_timeout", &grpc.idle_timeout_ns,
           "Time after which a connection without a call is closed.");
}

void RulesKeys(ConfigKeys& keys, RulesConfig& rules) {
  keys.Texts("files", &rules.files,
             "Rule files, or shipped packs as `pack:NAME`. Empty: `pack:default`.");
  keys.Text("overrides", &rules.overrides, "File with parameters per job.");
  keys.Texts("baseline", &rules.baseline,
             "Summaries of finished jobs (`pitwall baseline`), and folders of them.");
  keys.Duration("evaluation_interval", &rules.evaluation_interval_ns,
                "Interval of rule groups that name no interval.");
  keys.Section("limits", "What one rule may cost. A rule beyond a limit is an error.", [&] {
    plan::RuleLimits& limits = rules.limits;
    keys.Count("state_bytes_per_series", {1, INT64_MAX, "bytes"}, &limits.state_bytes_per_series,
               "State of one rule for one series.");
    keys.Count("label_bytes_per_series", {1, INT64_MAX, "bytes"}, &limits.label_bytes_per_series,
               "Estimated bytes of the labels that one rule computes for one series.");
    keys.Count("work_ns_per_series", {1, INT64_MAX, "nanoseconds"}, &limits.work_ns_per_series,
               "Estimated work of one evaluation for one series.");
    keys.Count("subquery_depth", {1, 100, ""}, &limits.subquery_depth,
               "Levels of subqueries inside each other.");
  });
}

void CollectorKeys(ConfigKeys& keys, CollectorConfig& collector) {
  keys.Text("node", &collector.node, "Name of this node. Empty: its host name.");
  keys.Duration("interval", &collector.interval_ns,
                "Sampling interval: 100ms, 200ms, 500ms, 1s, 5s or 1m. SIGHUP changes it.");
  if (const std::string problem = IntervalProblem(collector.interval_ns); !problem.empty())
    keys.CheckValue("interval", Cat("interval ", problem));
  keys.Text("socket", &collector.socket,
            "Unix socket of the training clients. Empty: `<data_dir>/collector.sock`.");
  keys.Text("socket_mode", &collector.socket_mode,
            "Who may connect to the socket, as a file mode: 0666 lets every user, 0660 the group.");
  if (const Status mode = ParseSocketMode(collector.socket_mode).status(); !mode.ok())
    keys.CheckValue("socket_mode", std::string(ToStd(mode.message())));
  keys.Text("socket_group", &collector.socket_group,
            "Group of the socket, for `socket_mode: 0660`. Empty: as the system gives it.");
  keys.Section("limits", "What training processes may use of the collector.", [&] {
    CollectorLimitsConfig& limits = collector.limits;
    keys.Count("clients", {1, 65536, ""}, &limits.clients, "Connections of all owners together.");
    keys.Count("clients_per_owner", {1, 65536, ""}, &limits.clients_per_owner,
               "Connections of one owner.");
    keys.Count(
        "bytes_per_second_per_owner", {64 << 10, int64_t{1} << 40, "bytes"},
        &limits.bytes_per_second_per_owner,
        "What one owner may send in a second; a message counts 256 bytes more. Beyond it the "
        "collector reads from its clients more slowly, and they wait.");
    keys.Count("jobs", {1, 10000, ""}, &limits.jobs, "Jobs of all owners together.");
    keys.Count("jobs_per_owner", {1, 10000, ""}, &limits.jobs_per_owner, "Jobs of one owner.");
    keys.Duration("hello_timeout", &limits.hello_timeout_ns,
                  "Time after which a connection without a hello is closed; at least 1s.");
    keys.Duration("idle_timeout", &limits.idle_timeout_ns,
                  "Time after which a silent connection is closed; at least 5s, since clients beat "
                  "each second.");
  });
  keys.Text("drop_dir", &collector.drop_dir,
            "Folder in which files declare jobs, e.g. by a Slurm prolog. Empty: none.");
  keys.Section("pods", "How ranks in pods ended, by the status of their containers.", [&] {
    PodsConfig& pods = collector.pods;
    keys.Text("url", &pods.url,
              "What gives the pods of this node as a PodList: "
              "`https://kubernetes.default.svc/api/v1/pods?fieldSelector=spec.nodeName={node}` "
              "(right: list pods) or `https://{node}:10250/pods` of the kubelet (right: get "
              "nodes/proxy); `{node}` is the node's name. Asked only after a rank in a pod has "
              "ended, and for owners. Empty: nobody is asked.");
    keys.Bool("owners", &pods.owners,
              "Whether a job whose clients name no object is that Job or PyTorchJob which owns the "
              "pod of its first rank. The executor of the cluster stops it then, no executor of a "
              "node. Asked once for each pod.");
    keys.Text("token_file", &pods.token_file, "Token; read again for each request. Empty: none.");
    keys.Text("ca_file", &pods.ca_file,
              "Certificates that sign the server's. Empty: those of the system.");
  });
  keys.Text("spool_dir", &collector.spool_dir,
            "Folder of what the log does not take yet. Empty: `<data_dir>/spool`.");
  keys.Count("spool_bytes", {1 << 20, int64_t{1} << 40, "bytes"}, &collector.spool_bytes,
             "Size of the spool. Beyond it the collector drops the oldest data and counts it.");
  keys.Bool("gpus", &collector.gpus, "Whether to read the GPUs of this node.");
  keys.List("jobs", "a job", &collector.jobs, "Jobs that run on this node.", [&](JobConfig& job) {
    keys.Text("id", &job.id, "Id of the job. Required.");
    keys.Text("name", &job.name, "Name of the job for people.");
    keys.Text(
        "owner", &job.owner,
        "Owner of the job: a user, `uid:<number>` or `pod:<uid>`. Empty: the first client's.");
    keys.Texts("members", &job.members, "Further owners whose processes belong to the job.");
    keys.Section("reference", "What the executor stops. Empty: what the job's clients say.", [&] {
      keys.Text("platform", &job.reference.platform, "`kubernetes`, `slurm` or another's name.");
      keys.Text("cluster", &job.reference.cluster, "Name of the cluster.");
      keys.Text("namespace", &job.reference.namespace_name, "Namespace of the object.");
      keys.Text("kind", &job.reference.kind, "Kind of the object, e.g. `Job`, `PyTorchJob`.");
      keys.Text("name", &job.reference.name, "Name of the object.");
      keys.Text("uid", &job.reference.uid, "Its uid, or the number of a Slurm job.");
      keys.Text("queue", &job.reference.queue, "Queue or partition.");
    });
    if (job.id.empty()) keys.CheckKey("id", "a job needs an id");
    if (job.owner.empty() && !job.members.empty())
      keys.CheckKey("members", "members without an owner: write owner too");
  });
}

void ProcessorKeys(ConfigKeys& keys, ProcessorConfig& processor) {
  keys.Number("partitions", {1, 1024, ""}, &processor.partitions,
              "Partitions of the telemetry topic, when the processor makes it.");
  keys.Text("share", &processor.share,
            "Which partitions are evaluated here, as `<index>/<count>`: those whose number has the "
            "remainder index after division by count. For several processors on one Kafka. Empty: "
            "all of them.");
  keys.Duration("commit_interval", &processor.commit_interval_ns,
                "Longest time between two commits of results.");
  keys.Duration("snapshot_interval", &processor.snapshot_interval_ns,
                "Time between two snapshots of a job's state.");
  keys.Count(
      "job_memory", {1 << 20, int64_t{1} << 40, "bytes"}, &processor.job_memory,
      "What one job may hold that was read and cannot be applied yet. Beyond it the processor "
      "refuses what comes, counts it, and the job's rules are in Error. Part of what a "
      "replay needs: `backtest --format log` takes the default.");
  keys.Bool("clock_ticks", &processor.clock_ticks,
            "Whether to write the passing of time into the log. Silent sources need it.");
  keys.Bool("accept_log_reset", &processor.accept_log_reset,
            "For one start: go on after a log was deleted, replaced or cut below what was "
            "committed.");
}

void RemoteWriteKeys(ConfigKeys& keys, RemoteWriteConfig& remote) {
  keys.Text("url", &remote.url,
            "Where to post: `http://prometheus:9090/api/v1/write`. Empty: nowhere.");
  keys.Text("token_file", &remote.token_file,
            "File with a bearer token, or `env:NAME`; read again for each request.");
  keys.Text("user", &remote.user, "User of basic authentication, in place of a token.");
  keys.Text("password_file", &remote.password_file,
            "File with its password, or `env:NAME`; read again for each request.");
  keys.Text("ca_file", &remote.ca_file,
            "Certificates that sign the receiver's. Empty: those of the system.");
  keys.Texts("metrics", &remote.metrics,
             "Regular expressions over whole names of metrics, of which one must match. Empty: all "
             "are sent.");
  keys.Texts("labels", &remote.labels,
             "The same over names of labels: the others are left out. `pitwall_job` always goes. "
             "Of series that become equal the first of a source is sent.");
  keys.Count("request_samples", {1, 1'000'000, "samples"}, &remote.request_samples,
             "Most samples of one request.");
  Positive(keys, "timeout", &remote.timeout_ns, "Of one request.");
  Positive(keys, "max_behind", &remote.max_behind_ns,
           "Age beyond which samples that could not be sent are dropped and counted. Until then "
           "they wait in the log, whose retention should be longer.");
}

void InsightsKeys(ConfigKeys& keys, InsightsConfig& insights) {
  keys.Bool("enabled", &insights.enabled, "Whether standalone keeps the history of its jobs.");
  keys.Text("dir", &insights.dir, "Folder of the history. Empty: `<data_dir>/insights`.");
  keys.Count("max_bytes", {int64_t{1} << 20, int64_t{1} << 50, "bytes"}, &insights.max_bytes,
             "Size of the folder. Beyond it raw samples of the oldest finished jobs go first, then "
             "all that is kept of them; a running job loses raw samples only when no finished one "
             "is left.");
  Positive(keys, "retention", &insights.retention_ns,
           "Time after which a finished job is removed, from the last that was heard of it.");
  keys.Count("memory", {1 << 20, int64_t{1} << 40, "bytes"}, &insights.memory,
             "Rows in memory, all jobs together. Beyond it the largest window is written early.");
  keys.Text("archive_dir", &insights.archive_dir,
            "Folder below which finished jobs are archived. Empty: `<data_dir>/archives`.");
  keys.Text("share", &insights.share,
            "Which partitions, and so which jobs, are kept here, as `<index>/<count>`: as "
            "`processor.share`. For several processes on one Kafka. Empty: all of them.");
  keys.Texts("peers", &insights.peers,
             "URLs of the HTTP servers of all shares, by index, this one's too: "
             "`http://insights-0:9870`. Whatever is asked of one is answered for all. They have "
             "the same tokens. Required with a share of several.");
  keys.Text("peer_ca_file", &insights.peer_ca_file,
            "Certificates that sign those of peers. Empty: those of the system.");
  Positive(keys, "peer_timeout", &insights.peer_timeout_ns,
           "Longest time to wait for a peer's part of an answer.");
  keys.Section("remote_write", "Mirrors raw series by Prometheus remote write (docs/history.md).",
               [&] { RemoteWriteKeys(keys, insights.remote_write); });
}

void ExecutorKeys(ConfigKeys& keys, ExecutorConfig& executor) {
  keys.Bool("enabled", &executor.enabled,
            "Whether standalone runs the executor (as `--executor`). Without a policy with "
            "`mode: live` it only writes what it would do.");
  keys.Count("budget", {0, 1000, "actions"}, &executor.budget,
             "Live actions per hour of event time, all jobs together. Beyond it actions are "
             "refused.");
  keys.Duration("cool_down", &executor.cool_down_ns,
                "Event time between two live actions on one job.");
  keys.Choice(
      "stops", {"all", "processes", "cluster"}, &executor.stops,
      "Which jobs are this executor's: `processes` of its node, those of the `cluster` (one "
      "executor for all nodes), or `all`. It passes over the others; with `all` it refuses "
      "what it has no way to stop.");
  keys.List("exempt", "an exemption", &executor.exempt,
            "Jobs that are never stopped. Of one entry, all globs that are given must match.",
            [&](ExemptConfig& exempt) {
              keys.Text("job", &exempt.job, "Glob over id and name of the job.");
              keys.Text("namespace", &exempt.namespace_name, "Glob over its namespace.");
              keys.Text("owner", &exempt.owner, "Glob over its owner, e.g. `uid:0`.");
              if (exempt.job.empty() && exempt.namespace_name.empty() && exempt.owner.empty())
                keys.CheckKey("job", "an exemption needs job, namespace or owner");
            });
  keys.Section("kubernetes", "Stops Jobs and PyTorchJobs (docs/actions.md).", [&] {
    KubernetesConfig& kubernetes = executor.kubernetes;
    keys.Bool("enabled", &kubernetes.enabled, "Whether to stop jobs of Kubernetes.");
    keys.Text("server", &kubernetes.server,
              "`https://host:port` of the API server. Empty: the one of the pod that it runs in.");
    keys.Text("cluster", &kubernetes.cluster,
              "Name of this cluster in references of jobs. Jobs of clusters of other names are "
              "passed over.");
    keys.Text("token_file", &kubernetes.token_file, "Token; read again for each call.");
    keys.Text("ca_file", &kubernetes.ca_file, "Certificates that sign the server's.");
    keys.Bool("delete", &kubernetes.delete_objects,
              "Whether to delete the object instead of suspending it.");
    keys.Bool("list_pods", &kubernetes.list_pods,
              "Whether an object without the annotation `pitwall.io/owner` may be stopped if the "
              "job's owner is one of its pods. Needs the right to list pods.");
  });
  keys.Section("slurm", "Stops jobs of Slurm by scancel (docs/install.md, section Slurm).", [&] {
    SlurmConfig& slurm = executor.slurm;
    keys.Bool("enabled", &slurm.enabled,
              "Whether to stop jobs of Slurm. The service must run as SlurmUser, root or an "
              "operator of Slurm.");
    keys.Text("cluster", &slurm.cluster,
              "Name of this cluster in references of jobs. Jobs of clusters of other names are "
              "passed over.");
    keys.Text("scancel", &slurm.scancel, "The program, by path or as found in PATH.");
    keys.Text("scontrol", &slurm.scontrol, "The same, to look whose job it is and what it does.");
    keys.Duration("timeout", &slurm.timeout_ns, "Of one call of a program.");
  });
  keys.Section("webhook", "Asks another program to stop jobs (docs/actions.md).", [&] {
    StopWebhookConfig& webhook = executor.webhook;
    keys.Text("url", &webhook.url, "Where to post the decision. Empty: nowhere.");
    keys.Texts("secrets", &webhook.secrets,
               "Places of signing secrets: `file:PATH` or `env:NAME`. Empty: unsigned.");
    keys.Texts("platforms", &webhook.platforms,
               "Platforms whose jobs it stops, as globs. `*` does not mean processes of nodes.");
    keys.Bool("allow_insecure", &webhook.allow_insecure,
              "Whether `http` is allowed beyond loopback.");
    keys.Texts("allowed_cidrs", &webhook.allowed_cidrs,
               "Networks that it may reach beyond public addresses and loopback.");
  });
  keys.List(
      "policies", "a policy", &executor.policies,
      "What rules may do. The first policy that matches a rule holds. A rule without a "
      "policy is a dry run if its label `action` is `stop`, else it does nothing.",
      [&](PolicyConfig& policy) {
        keys.Text("rule", &policy.rule,
                  "Glob over `pack/group/alert`: `*` and `?`, `*` crosses slashes. Required.");
        keys.Choice("mode", {"off", "dry_run", "live"}, &policy.mode,
                    "`live` stops the job (SIGTERM to its process, a suspension of its "
                    "object); `dry_run` writes the decision only.");
        keys.Duration(
            "grace", &policy.grace_ns,
            "Time after the stop at which the outcome is recorded, if it had no effect before.");
        if (policy.rule.empty())
          keys.CheckKey("rule", "a policy needs a rule: a glob over pack/group/alert");
      });
}

}  // namespace

std::string IntervalProblem(int64_t interval_ns) {
  const std::vector<int64_t>& known = collector::Collector::Intervals();
  if (std::find(known.begin(), known.end(), interval_ns) != known.end()) return {};
  std::vector<std::string> names;
  for (const int64_t interval : known) names.push_back(FormatDuration(interval));
  return Cat("must be one of ", Join(names, ", "), ", not ", FormatDuration(interval_ns));
}

void VisitConfig(ConfigKeys& keys, Config& config) {
  keys.Text("data_dir", &config.data_dir, "Folder of the embedded log, spool and socket.");
  keys.Choice("log_level", {"debug", "info", "warning", "error"}, &config.log_level,
              "Least level of the diagnostics on stderr.");
  keys.Duration("reload_interval", &config.reload_interval_ns,
                "Time between two looks at the configuration and rule files. A change that two "
                "looks in a row see is read as by SIGHUP. `0s`: SIGHUP only.");
  keys.Text("external_url", &config.external_url,
            "Address at which people reach the HTTP server, e.g. `https://pitwall.example`: begins "
            "the links in webhooks and answers. Empty: links are paths.");
  keys.Section("memory", "What the process may use.", [&] {
    keys.Count("budget", {0, int64_t{1} << 50, "bytes"}, &config.memory.budget,
               "Memory that jobs may hold, all together. From 90 % of it on, the partition that "
               "holds most reads nothing more; at the limit none does. 0: 60 % of the least of "
               "RAM, cgroup limit and `ulimit -v`.");
  });
  keys.Section("log", "The log between the services.", [&] { LogKeys(keys, config.log); });
  keys.Section(
      "http",
      "`/metrics`, `/healthz`, `/readyz`, `/metrics/issues`, and the history (docs/api.md, "
      "docs/promql-api.md).",
      [&] { HttpKeys(keys, config.http); });
  keys.Section("grpc", "The IssueService of the notifier.", [&] { GrpcKeys(keys, config.grpc); });
  keys.Section("rules", "What the processor evaluates. SIGHUP reads the files again.",
               [&] { RulesKeys(keys, config.rules); });
  keys.Section("collector", "One per node.", [&] { CollectorKeys(keys, config.collector); });
  keys.Section("processor", "Evaluates the rules.", [&] { ProcessorKeys(keys, config.processor); });
  keys.Section("notifier", "Tells people and machines.",
               [&] { NotifierKeys(keys, config.notifier); });
  keys.Section("executor", "Stops jobs, where a policy says so.",
               [&] { ExecutorKeys(keys, config.executor); });
  keys.Section("insights", "Keeps the history of all jobs.",
               [&] { InsightsKeys(keys, config.insights); });
}

}  // namespace pitwall
