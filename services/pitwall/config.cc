#include "services/pitwall/config.h"

#include <algorithm>

#include "services/base/duration.h"
#include "services/base/strings.h"
#include "services/base/yaml/yaml.h"
#include "services/collector/collector.h"

namespace pitwall {

namespace {

using yaml::Node;
using yaml::Problem;
using yaml::StrictMap;

template <typename T>
void Take(std::optional<T> value, T* field) {
  if (value.has_value()) *field = std::move(*value);
}

// A string out of a fixed set.
void TakeChoice(StrictMap& map, std::string_view key, std::vector<std::string_view> choices,
                std::string* field) {
  std::optional<std::string> value = map.String(key);
  if (!value.has_value()) return;
  if (std::find(choices.begin(), choices.end(), *value) == choices.end()) {
    std::vector<std::string> names(choices.begin(), choices.end());
    map.Add(map.Get(key)->position(),
            Cat(key, " must be one of ", Join(names, ", "), ", not ", Quote(*value)));
    return;
  }
  *field = *value;
}

void ReadSection(StrictMap& top, std::string_view key, std::vector<Problem>* problems, auto read) {
  if (const Node* node = top.Get(key); node != nullptr) {
    StrictMap map(*node, key, problems);
    read(map);
    map.Finish();
  }
}

// A list of maps.
void ReadList(StrictMap& map, std::string_view key, std::string_view what,
              std::vector<Problem>* problems, auto read) {
  const Node* list = map.Get(key);
  if (list == nullptr) return;
  if (!list->IsSequence()) {
    map.Add(list->position(), Cat(key, " must be a list, not ", list->KindName()));
    return;
  }
  for (const Node& item : list->items()) {
    StrictMap entry(item, what, problems);
    read(entry);
    entry.Finish();
  }
}

void ReadTls(StrictMap& map, TlsConfig* tls, std::vector<Problem>* problems) {
  ReadSection(map, "tls", problems, [&](StrictMap& section) {
    Take(section.String("certificate"), &tls->certificate);
    Take(section.String("key"), &tls->key);
    Take(section.String("client_ca"), &tls->client_ca);
    if (tls->certificate.empty() != tls->key.empty() ||
        (tls->certificate.empty() && !tls->client_ca.empty())) {
      section.Add(section.KeyPosition("certificate"), "tls needs both certificate and key");
    }
  });
}

// Empty when the collector can sample so often.
std::string IntervalProblem(int64_t interval_ns) {
  const std::vector<int64_t>& known = collector::Collector::Intervals();
  if (std::find(known.begin(), known.end(), interval_ns) != known.end()) return {};
  std::vector<std::string> names;
  for (const int64_t interval : known) names.push_back(FormatDuration(interval));
  return Cat("must be one of ", Join(names, ", "), ", not ", FormatDuration(interval_ns));
}

void ReadLog(StrictMap& map, LogConfig* log, std::vector<Problem>* problems) {
  TakeChoice(map, "kind", {"embedded", "kafka"}, &log->kind);
  TakeChoice(map, "fsync", {"always", "interval", "never"}, &log->fsync);
  Take(map.Duration("fsync_interval"), &log->fsync_interval_ns);
  Take(map.Int("segment_bytes", 1 << 16, int64_t{1} << 32), &log->segment_bytes);
  Take(map.Duration("retention"), &log->retention_ns);
  Take(map.String("brokers"), &log->brokers);
  for (const auto& [key, node] : map.Scalars("rdkafka")) log->rdkafka[key] = node->scalar();
  (void)problems;
}

void ReadCollector(StrictMap& map, CollectorConfig* collector, std::vector<Problem>* problems) {
  Take(map.String("node"), &collector->node);
  if (const auto interval = map.Duration("interval"); interval.has_value()) {
    collector->interval_ns = *interval;
    if (const std::string problem = IntervalProblem(*interval); !problem.empty())
      map.Add(map.Get("interval")->position(), Cat("interval ", problem));
  }
  Take(map.String("socket"), &collector->socket);
  Take(map.String("drop_dir"), &collector->drop_dir);
  Take(map.String("spool_dir"), &collector->spool_dir);
  Take(map.Int("spool_bytes", 1 << 20, int64_t{1} << 40), &collector->spool_bytes);
  Take(map.Bool("gpus"), &collector->gpus);
  ReadList(map, "jobs", "a job", problems, [&](StrictMap& entry) {
    JobConfig job;
    Take(entry.String("id"), &job.id);
    Take(entry.String("name"), &job.name);
    if (job.id.empty()) entry.Add(entry.KeyPosition("id"), "a job needs an id");
    collector->jobs.push_back(std::move(job));
  });
}

void ReadNotifier(StrictMap& map, NotifierConfig* notifier, std::vector<Problem>* problems) {
  Take(map.Bool("allow_insecure"), &notifier->allow_insecure);
  Take(map.Strings("allowed_cidrs"), &notifier->allowed_cidrs);
  ReadList(map, "webhooks", "a webhook", problems, [&](StrictMap& entry) {
    WebhookConfig webhook;
    Take(entry.String("name"), &webhook.name);
    Take(entry.String("url"), &webhook.url);
    Take(entry.Strings("types"), &webhook.types);
    Take(entry.Strings("severities"), &webhook.severities);
    Take(entry.Strings("secrets"), &webhook.secrets);
    Take(entry.Bool("from_start"), &webhook.from_start);
    Take(entry.Bool("notify_symptoms"), &webhook.notify_symptoms);
    if (webhook.name.empty())
      entry.Add(entry.KeyPosition("name"),
                "a webhook needs a name: its position is stored under it");
    if (webhook.url.empty()) entry.Add(entry.KeyPosition("url"), "a webhook needs a url");
    notifier->webhooks.push_back(std::move(webhook));
  });
}

void ReadExecutor(StrictMap& map, ExecutorConfig* executor, std::vector<Problem>* problems) {
  Take(map.Bool("enabled"), &executor->enabled);
  Take(map.Int("budget", 0, 1000), &executor->budget);
  Take(map.Duration("cool_down"), &executor->cool_down_ns);
  ReadList(map, "policies", "a policy", problems, [&](StrictMap& entry) {
    PolicyConfig policy;
    Take(entry.String("rule"), &policy.rule);
    TakeChoice(entry, "mode", {"off", "dry_run", "live"}, &policy.mode);
    Take(entry.Duration("grace"), &policy.grace_ns);
    if (policy.rule.empty())
      entry.Add(entry.KeyPosition("rule"), "a policy needs a rule: a glob over pack/group/alert");
    executor->policies.push_back(std::move(policy));
  });
}

}  // namespace

StatusOr<Config> ParseConfig(std::string_view file_name, std::string_view text) {
  ASSIGN_OR_RETURN(const Node root, yaml::ParseYaml(file_name, text));
  Config config;
  std::vector<Problem> problems;
  StrictMap top(root, "the configuration", &problems);
  Take(top.String("data_dir"), &config.data_dir);
  TakeChoice(top, "log_level", {"debug", "info", "warning", "error"}, &config.log_level);
  ReadSection(top, "log", &problems, [&](StrictMap& map) { ReadLog(map, &config.log, &problems); });
  ReadSection(top, "http", &problems, [&](StrictMap& map) {
    Take(map.String("listen"), &config.http.listen);
    Take(map.String("token_file"), &config.http.token_file);
    ReadTls(map, &config.http.tls, &problems);
  });
  ReadSection(top, "grpc", &problems, [&](StrictMap& map) {
    Take(map.String("listen"), &config.grpc.listen);
    Take(map.String("token_file"), &config.grpc.token_file);
    ReadTls(map, &config.grpc.tls, &problems);
  });
  ReadSection(top, "rules", &problems, [&](StrictMap& map) {
    Take(map.Strings("files"), &config.rules.files);
    Take(map.String("overrides"), &config.rules.overrides);
    Take(map.Strings("baseline"), &config.rules.baseline);
    Take(map.Duration("evaluation_interval"), &config.rules.evaluation_interval_ns);
    ReadSection(map, "limits", &problems, [&](StrictMap& limits) {
      plan::RuleLimits& l = config.rules.limits;
      Take(limits.Int("state_bytes_per_series", 1, INT64_MAX), &l.state_bytes_per_series);
      Take(limits.Int("work_ns_per_series", 1, INT64_MAX), &l.work_ns_per_series);
      Take(limits.Int("subquery_depth", 1, 100), &l.subquery_depth);
    });
  });
  ReadSection(top, "collector", &problems,
              [&](StrictMap& map) { ReadCollector(map, &config.collector, &problems); });
  ReadSection(top, "processor", &problems, [&](StrictMap& map) {
    if (auto partitions = map.Int("partitions", 1, 1024))
      config.processor.partitions = static_cast<int32_t>(*partitions);
    Take(map.Duration("commit_interval"), &config.processor.commit_interval_ns);
    Take(map.Duration("snapshot_interval"), &config.processor.snapshot_interval_ns);
    Take(map.Bool("clock_ticks"), &config.processor.clock_ticks);
    Take(map.Bool("accept_log_reset"), &config.processor.accept_log_reset);
  });
  ReadSection(top, "notifier", &problems,
              [&](StrictMap& map) { ReadNotifier(map, &config.notifier, &problems); });
  ReadSection(top, "executor", &problems,
              [&](StrictMap& map) { ReadExecutor(map, &config.executor, &problems); });
  top.Finish();
  RETURN_IF_ERROR(yaml::ToStatus(root, problems));
  return config;
}

Status CheckConfig(const Config& config) {
  if (config.log.kind == "kafka" && config.log.brokers.empty()) {
    return InvalidArgument("log.brokers: needed with log.kind kafka (host:port,host:port)");
  }
  if (config.rules.evaluation_interval_ns <= 0) {
    return InvalidArgument("rules.evaluation_interval: must be longer than 0");
  }
  if (config.processor.commit_interval_ns <= 0 || config.processor.snapshot_interval_ns <= 0) {
    return InvalidArgument(
        "processor.commit_interval, processor.snapshot_interval: must be longer than 0");
  }
  if (const std::string problem = IntervalProblem(config.collector.interval_ns); !problem.empty())
    return InvalidArgument(Cat("collector.interval: ", problem));
  if (config.data_dir.empty()) return InvalidArgument("data_dir: must not be empty");
  return OkStatus();
}

namespace {

// A YAML scalar that reads back as exactly this text.
std::string Text(std::string_view value) {
  // In single quotes a line break would be read back as a space.
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(value.begin(), value.end(), control)) {
    constexpr char kHex[] = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : value) {
      if (control(c)) {
        CatTo(out, "\\x", std::string(1, kHex[c >> 4]), std::string(1, kHex[c & 15]));
        continue;
      }
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + "\"";
  }
  std::string out = "'";
  for (const char c : value) {
    out += c;
    if (c == '\'') out += '\'';
  }
  return out + "'";
}
std::string List(const std::vector<std::string>& values) {
  std::vector<std::string> quoted;
  for (const std::string& value : values) quoted.push_back(Text(value));
  return Cat("[", Join(quoted, ", "), "]");
}
std::string_view Bool(bool value) { return value ? "true" : "false"; }
std::string Tls(const TlsConfig& tls) {
  return Cat("  tls: {certificate: ", Text(tls.certificate), ", key: ", Text(tls.key),
             ", client_ca: ", Text(tls.client_ca), "}\n");
}

}  // namespace

std::string PrintConfig(const Config& c) {
  std::string out;
  CatTo(out, "data_dir: ", Text(c.data_dir), "\nlog_level: ", c.log_level, "\n");
  CatTo(out, "log:\n  kind: ", c.log.kind, "\n  fsync: ", c.log.fsync,
        "\n  fsync_interval: ", FormatDuration(c.log.fsync_interval_ns),
        "\n  segment_bytes: ", c.log.segment_bytes,
        "\n  retention: ", FormatDuration(c.log.retention_ns), "\n  brokers: ", Text(c.log.brokers),
        "\n");
  if (!c.log.rdkafka.empty()) out += "  rdkafka:\n";
  for (const auto& [key, value] : c.log.rdkafka) {
    // Values may be passwords.
    const bool secret = key.find("password") != std::string::npos ||
                        key.find("secret") != std::string::npos ||
                        key.find("key.pem") != std::string::npos ||
                        key.find("oauthbearer.config") != std::string::npos;
    CatTo(out, "    ", Text(key), ": ", secret ? std::string("'<hidden>'") : Text(value), "\n");
  }
  CatTo(out, "http:\n  listen: ", Text(c.http.listen), "\n  token_file: ", Text(c.http.token_file),
        "\n", Tls(c.http.tls));
  CatTo(out, "grpc:\n  listen: ", Text(c.grpc.listen), "\n  token_file: ", Text(c.grpc.token_file),
        "\n", Tls(c.grpc.tls));
  CatTo(out, "rules:\n  files: ", List(c.rules.files), "\n  overrides: ", Text(c.rules.overrides),
        "\n  baseline: ", List(c.rules.baseline),
        "\n  evaluation_interval: ", FormatDuration(c.rules.evaluation_interval_ns),
        "\n  limits: {state_bytes_per_series: ", c.rules.limits.state_bytes_per_series,
        ", work_ns_per_series: ", c.rules.limits.work_ns_per_series,
        ", subquery_depth: ", c.rules.limits.subquery_depth, "}\n");
  CatTo(out, "collector:\n  node: ", Text(c.collector.node),
        "\n  interval: ", FormatDuration(c.collector.interval_ns), "\n  socket: ", Text(c.Socket()),
        "\n  drop_dir: ", Text(c.collector.drop_dir), "\n  spool_dir: ", Text(c.SpoolDir()),
        "\n  spool_bytes: ", c.collector.spool_bytes, "\n  gpus: ", Bool(c.collector.gpus),
        "\n  jobs:", c.collector.jobs.empty() ? " []" : "", "\n");
  for (const JobConfig& job : c.collector.jobs) {
    CatTo(out, "    - {id: ", Text(job.id), ", name: ", Text(job.name), "}\n");
  }
  CatTo(out, "processor:\n  partitions: ", c.processor.partitions,
        "\n  commit_interval: ", FormatDuration(c.processor.commit_interval_ns),
        "\n  snapshot_interval: ", FormatDuration(c.processor.snapshot_interval_ns),
        "\n  clock_ticks: ", Bool(c.processor.clock_ticks),
        "\n  accept_log_reset: ", Bool(c.processor.accept_log_reset), "\n");
  CatTo(out, "notifier:\n  allow_insecure: ", Bool(c.notifier.allow_insecure),
        "\n  allowed_cidrs: ", List(c.notifier.allowed_cidrs),
        "\n  webhooks:", c.notifier.webhooks.empty() ? " []" : "", "\n");
  for (const WebhookConfig& w : c.notifier.webhooks) {
    CatTo(out, "    - {name: ", Text(w.name), ", url: ", Text(w.url), ", types: ", List(w.types),
          ", severities: ", List(w.severities), ", secrets: ", List(w.secrets),
          ", from_start: ", Bool(w.from_start), ", notify_symptoms: ", Bool(w.notify_symptoms),
          "}\n");
  }
  CatTo(out, "executor:\n  enabled: ", Bool(c.executor.enabled), "\n  budget: ", c.executor.budget,
        "\n  cool_down: ", FormatDuration(c.executor.cool_down_ns),
        "\n  policies:", c.executor.policies.empty() ? " []" : "", "\n");
  for (const PolicyConfig& p : c.executor.policies) {
    CatTo(out, "    - {rule: ", Text(p.rule), ", mode: ", p.mode,
          ", grace: ", FormatDuration(p.grace_ns), "}\n");
  }
  return out;
}

}  // namespace pitwall
