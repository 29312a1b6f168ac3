// Configuration of the services: a YAML file, and command-line options that override its values.
// The parser is strict: unknown keys, wrong types, and out-of-range values are errors with file,
// line, and column.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/plan/cost/rule_limits.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/model/job.h"
#include "services/notifier/receivers/kinds/receiver_kind.h"
#include "services/processor/partition_share.h"

namespace pitwall {

struct LogConfig {
  std::string kind = "embedded";  // embedded or kafka
  // Settings for the embedded log.
  std::string fsync = "interval";  // always, interval, never
  int64_t fsync_interval_ns = 200 * kNanosPerMilli;
  int64_t segment_bytes = 64 << 20;
  int64_t retention_ns = int64_t{7} * 24 * 3600 * kNanosPerSecond;
  // Settings for Kafka.
  std::string brokers;
  std::map<std::string, std::string> rdkafka;
};

// Paths to the TLS files. The server reloads them when they change. TLS is disabled if
// `certificate` is empty.
struct TlsConfig {
  std::string certificate;  // PEM chain
  std::string key;
  std::string client_ca;  // if set, clients must present a certificate signed by this CA
};

struct HttpConfig {
  std::string listen = "127.0.0.1:9870";
  std::string token_file;      // token for the view role: a file, or env:NAME
  std::string act_token_file;  // token for the act role: a file, or env:NAME
  TlsConfig tls;
  int64_t max_connections = 256;
  int64_t max_connections_per_address = 64;
  int64_t header_timeout_ns = 10 * kNanosPerSecond;
  int64_t body_timeout_ns = 10 * kNanosPerSecond;
  int64_t idle_timeout_ns = 60 * kNanosPerSecond;
};

struct GrpcConfig {
  std::string listen = "127.0.0.1:9871";
  std::string token_file;
  std::string act_token_file;
  TlsConfig tls;
  int64_t max_watches = 64;
  int64_t max_watches_per_address = 16;
  int64_t handshake_timeout_ns = 10 * kNanosPerSecond;
  int64_t idle_timeout_ns = 300 * kNanosPerSecond;
};

struct RulesConfig {
  std::vector<std::string> files;  // if empty, the default pack
  std::string overrides;
  std::vector<std::string> baseline;  // summaries of finished jobs, or directories with summaries
  int64_t evaluation_interval_ns = 60 * kNanosPerSecond;
  plan::RuleLimits limits;  // limits for rule sets that are loaded from now on
};

struct JobConfig {
  std::string id;
  std::string name;
  std::string owner;  // user, uid:<number>, pod:<uid>; if empty, owner of the first client
  std::vector<std::string> members;  // other owners with processes that belong to the job
  JobReference reference;            // if empty, the reference that the clients report
};

// Source from which the collector reads container exit statuses.
struct PodsConfig {
  std::string url;  // disabled if empty
  std::string token_file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
  std::string ca_file = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
  bool owners = false;
};

// Limits on training processes' use of the collector, in total and per owner.
struct CollectorLimitsConfig {
  int64_t clients = 1024;
  int64_t clients_per_owner = 256;
  int64_t bytes_per_second_per_owner = 16 << 20;
  int64_t jobs = 256;
  int64_t jobs_per_owner = 64;
  int64_t hello_timeout_ns = 10 * kNanosPerSecond;
  int64_t idle_timeout_ns = 1800 * kNanosPerSecond;
};

struct CollectorConfig {
  std::string node;
  int64_t interval_ns = 500 * kNanosPerMilli;
  std::string socket;  // default: <data_dir>/collector.sock
  std::string socket_mode = "0666";
  std::string socket_group;  // if empty, the system's default group
  CollectorLimitsConfig limits;
  std::vector<JobConfig> jobs;
  std::string drop_dir;
  PodsConfig pods;
  std::string spool_dir;  // default: <data_dir>/spool
  int64_t spool_bytes = int64_t{1} << 30;
  bool gpus = true;
};

struct ProcessorConfig {
  int32_t partitions = 4;
  std::string share;  // "<index>/<count>"; if empty, all partitions
  int64_t commit_interval_ns = kNanosPerSecond;
  int64_t snapshot_interval_ns = 60 * kNanosPerSecond;
  bool clock_ticks = true;
  int64_t job_memory = int64_t{1} << 30;
  // Set this for one start only, after a log has been deleted, replaced, or truncated.
  bool accept_log_reset = false;
};

struct MemoryConfig {
  int64_t budget = 0;  // in bytes; 0 means a share of the process's memory limit
};

struct RouteConfig {
  std::vector<std::string> matchers;
  std::vector<std::string> receivers;
  bool continues = false;
};

struct NotifierConfig {
  notifier::ReceiverLists receivers;
  std::vector<RouteConfig> routes;
  std::string ca_file;
  bool allow_insecure = false;
  std::vector<std::string> allowed_cidrs;
};

struct PolicyConfig {
  std::string rule;
  std::string mode = "dry_run";  // off, dry_run, or live
  int64_t grace_ns = 30 * kNanosPerSecond;
};

// Pattern for jobs that the executor never stops. A job matches if it matches all non-empty globs.
struct ExemptConfig {
  std::string job, namespace_name, owner;
};

struct KubernetesConfig {
  bool enabled = false;
  std::string server;  // default: API server of the cluster in which this pod runs
  std::string cluster;
  std::string token_file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
  std::string ca_file = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
  bool delete_objects = false;
  bool list_pods = false;
};

struct SlurmConfig {
  bool enabled = false;
  std::string cluster;
  std::string scancel = "scancel", scontrol = "scontrol";
  int64_t timeout_ns = 10 * kNanosPerSecond;
};

struct StopWebhookConfig {
  std::string url;  // disabled if empty
  std::vector<std::string> secrets;
  std::vector<std::string> platforms = {"*"};
  bool allow_insecure = false;
  std::vector<std::string> allowed_cidrs;
};

struct ExecutorConfig {
  bool enabled = false;       // standalone only; otherwise the executor is a separate service
  std::string stops = "all";  // all, processes, cluster
  std::vector<PolicyConfig> policies;
  std::vector<ExemptConfig> exempt;
  KubernetesConfig kubernetes;
  SlurmConfig slurm;
  StopWebhookConfig webhook;
  int64_t budget = 5;
  int64_t cool_down_ns = int64_t{600} * kNanosPerSecond;
};

// Receiver for mirrored raw series. Mirroring is disabled if `url` is empty.
struct RemoteWriteConfig {
  std::string url;
  std::string token_file;  // a file, or env:NAME
  std::string user;
  std::string password_file;  // a file, or env:NAME
  std::string ca_file;
  std::vector<std::string> metrics;
  std::vector<std::string> labels;
  int64_t request_samples = 5'000;
  int64_t timeout_ns = 30 * kNanosPerSecond;
  int64_t max_behind_ns = int64_t{7200} * kNanosPerSecond;
};

struct InsightsConfig {
  bool enabled = true;  // standalone only; otherwise insights is a separate service
  std::string dir;      // default: <data_dir>/insights
  int64_t max_bytes = int64_t{20} << 30;
  int64_t retention_ns = int64_t{30} * 24 * 3600 * kNanosPerSecond;
  int64_t memory = int64_t{256} << 20;
  std::string archive_dir;         // default: <data_dir>/archives
  std::string share;               // "<index>/<count>"; if empty, all partitions
  std::vector<std::string> peers;  // URLs of all shares, ordered by index
  std::string peer_ca_file;
  int64_t peer_timeout_ns = 10 * kNanosPerSecond;
  RemoteWriteConfig remote_write;
};

struct Config {
  std::string data_dir = "pitwall-data";
  std::string log_level = "info";
  // Interval for checking files for changes. If 0, only SIGHUP triggers a reload.
  int64_t reload_interval_ns = 0;
  std::string external_url;  // base URL for links to the HTTP server; if "", links are paths
  MemoryConfig memory;
  LogConfig log;
  HttpConfig http;
  GrpcConfig grpc;
  RulesConfig rules;
  CollectorConfig collector;
  ProcessorConfig processor;
  NotifierConfig notifier;
  ExecutorConfig executor;
  InsightsConfig insights;

  std::string Socket() const {
    return collector.socket.empty() ? data_dir + "/collector.sock" : collector.socket;
  }
  std::string SpoolDir() const {
    return collector.spool_dir.empty() ? data_dir + "/spool" : collector.spool_dir;
  }
  std::string InsightsDir() const {
    return insights.dir.empty() ? data_dir + "/insights" : insights.dir;
  }
  std::string ArchiveDir() const {
    return insights.archive_dir.empty() ? data_dir + "/archives" : insights.archive_dir;
  }
};

// Parses a configuration. Returns InvalidArgument with one line per problem, in the form
// "file:line:col: problem".
StatusOr<Config> ParseConfig(std::string_view file_name, std::string_view text);
// Returns every key with its effective value. ParseConfig parses the returned text to the same
// configuration. For secrets, only the locations are printed.
std::string PrintConfig(const Config& config);
// Parses an octal file mode: "0660" becomes 0660.
StatusOr<uint32_t> ParseSocketMode(std::string_view text);
// Parses a share with a zero-based index: "1/3" is the second of three shares.
StatusOr<processor::PartitionShare> ParseShare(std::string_view text);
// Checks constraints that involve several keys. Returns InvalidArgument for the first violation.
Status CheckConfig(const Config& config);

}  // namespace pitwall
