#include "services/app/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "services/app/command/flags.h"
#include "services/app/config/secret_ref.h"
#include "services/app/config/service_flags.h"
#include "services/base/text/strings.h"
#include "services/collector/collector.h"

namespace pitwall {
namespace {

using testing::HasSubstr;

TEST(Config, CollectorLimits_Defaults_MatchCollector) {
  const CollectorLimitsConfig config;
  const collector::Options::Limits limits;
  EXPECT_EQ(static_cast<size_t>(config.clients), limits.clients);
  EXPECT_EQ(static_cast<size_t>(config.clients_per_owner), limits.clients_per_owner);
  EXPECT_EQ(static_cast<size_t>(config.bytes_per_second_per_owner),
            limits.bytes_per_second_per_owner);
  EXPECT_EQ(static_cast<size_t>(config.jobs), limits.jobs);
  EXPECT_EQ(static_cast<size_t>(config.jobs_per_owner), limits.jobs_per_owner);
  EXPECT_EQ(config.hello_timeout_ns, limits.hello_timeout_ns);
  EXPECT_EQ(config.idle_timeout_ns, limits.idle_timeout_ns);
}

TEST(Config, PrintConfig_EveryKind_RoundTrips) {
  Config config;
  config.log.kind = "kafka";
  config.log.brokers = "it's:9092";
  config.log.rdkafka["security.protocol"] = "ssl";
  config.rules.files = {"a.yaml", "b, c.yaml"};
  config.collector.jobs = {{"j1", "job: one", "alice", {"root", "pod:x-1"}}};
  config.collector.socket_mode = "0660";
  config.collector.socket_group = "train";
  config.collector.limits.jobs_per_owner = 7;
  config.collector.limits.idle_timeout_ns = 7 * kNanosPerSecond;
  config.http.tls = {.certificate = "h.pem", .key = "h.key", .client_ca = "ca.pem"};
  config.grpc.tls = {.certificate = "g.pem", .key = "g.key", .client_ca = ""};
  const auto receivers = ParseConfig(
      "receivers",
      "notifier:\n"
      "  webhooks:\n"
      "    - {name: w, url: 'https://x', types: [issue.found], secrets: ['env:S']}\n"
      "    - {name: all, url: 'https://y', notify_symptoms: true}\n"
      "    - {name: all2, url: 'https://z', notify: events}\n"
      "  alertmanagers: [{name: am, urls: ['http://a:9093', 'http://b:9093'], labels: {a: b}}]\n"
      "  slack: [{name: s, url: 'env:SLACK', channel: '#x'}]\n"
      "  email: [{name: m, host: mail, from: 'a@b.c', to: ['d@e.f'], port: 465}]\n"
      "  gateways: [{name: g, url: 'https://g', body: '{}', success: ['202']}]\n"
      "  pagerduty: [{name: p, routing_key: 'env:KEY', resolve_ended: false}]\n");
  ASSERT_TRUE(receivers.ok()) << receivers.status();
  config.notifier.receivers = receivers->notifier.receivers;
  config.executor.policies.push_back({.rule = "starter/*", .mode = "live"});
  config.processor.share = "1/3";
  config.insights.share = "1/2";
  config.insights.peers = {"http://a:9870", "https://b"};
  config.insights.remote_write = {.url = "http://p:9090/api/v1/write",
                                  .user = "u",
                                  .password_file = "env:P",
                                  .metrics = {"hw_.*", "train_loss"}};
  config.reload_interval_ns = 10 * kNanosPerSecond;
  const std::string text = PrintConfig(config);
  const auto again = ParseConfig("printed", text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintConfig(*again), text);
}

TEST(Config, ParseConfig_SeveralProblems_ReportsEachPosition) {
  const auto config = ParseConfig("pitwall.yaml",
                                  "data_dir: /tmp/x\n"
                                  "colector: {}\n"
                                  "log:\n"
                                  "  kind: rabbit\n"
                                  "  fsync_interval: fast\n"
                                  "notifier:\n"
                                  "  webhooks:\n"
                                  "    - {name: a}\n");
  ASSERT_FALSE(config.ok());
  const std::string message(config.status().message());
  EXPECT_THAT(message, HasSubstr("pitwall.yaml:2:1"));
  EXPECT_THAT(message, HasSubstr("collector"));
  EXPECT_THAT(message, HasSubstr("pitwall.yaml:4:9"));
  EXPECT_THAT(message, HasSubstr("rabbit"));
  EXPECT_THAT(message, HasSubstr("pitwall.yaml:5:"));
  EXPECT_THAT(message, HasSubstr("pitwall.yaml:8:"));
}

TEST(Config, CheckConfig_InvalidShareOrReloadInterval_Fails) {
  const auto share = ParseShare("2/3");
  ASSERT_TRUE(share.ok()) << share.status();
  EXPECT_EQ(share->index, 2);
  EXPECT_EQ(share->count, 3);
  for (const char* wrong : {"", "3", "3/3", "-1/3", "0/0", "0/1025", "a/b", "0/3/1"})
    EXPECT_FALSE(ParseShare(wrong).ok()) << wrong;
  Config config;
  config.processor.share = "3/3";
  EXPECT_THAT(std::string(CheckConfig(config).message()), HasSubstr("use 0/3, 1/3, and 2/3"));
  config.processor.share = "0/1";
  EXPECT_TRUE(CheckConfig(config).ok());
  config.reload_interval_ns = kNanosPerMilli;
  EXPECT_THAT(std::string(CheckConfig(config).message()), HasSubstr("reload_interval"));
}

TEST(Config, ParseConfig_InvalidSocketOrLimit_NamesKey) {
  const auto problem = [](std::string_view text) {
    return std::string(ParseConfig("c.yaml", text).status().message());
  };
  EXPECT_EQ(problem("collector: {socket_mode: '0660', socket_group: train}"), "");
  EXPECT_EQ(problem("collector: {socket_mode: 0600}"), "");
  for (const char* bad : {"rw", "'8'", "01777", "'0999'", "''", "'00000660'"})
    EXPECT_THAT(problem(std::string("collector:\n  socket_mode: ") + bad),
                HasSubstr("use octal digits such as 0660"))
        << bad;
  EXPECT_THAT(problem("collector: {limits: {clients: 0}}"), HasSubstr("clients"));
  EXPECT_THAT(problem("collector: {limits: {client: 1}}"), HasSubstr("client"));
  EXPECT_THAT(problem("collector: {jobs: [{id: j, members: [root]}]}"),
              HasSubstr("members requires an owner"));
  Config config;
  config.collector.limits.idle_timeout_ns = kNanosPerSecond;
  EXPECT_THAT(std::string(CheckConfig(config).message()), HasSubstr("idle_timeout"));
  config = {};
  config.collector.socket_mode = "x";
  EXPECT_THAT(std::string(CheckConfig(config).message()), HasSubstr("socket_mode"));
}

TEST(Config, Tls_CertificateWithoutKey_Fails) {
  const auto problem = [](std::string_view text) {
    return std::string(ParseConfig("c.yaml", text).status().message());
  };
  EXPECT_EQ(problem("http: {tls: {certificate: c, key: k}}"), "");
  EXPECT_THAT(problem("http:\n  tls: {certificate: c}"), HasSubstr("c.yaml:2:9"));
  EXPECT_THAT(problem("grpc:\n  tls: {key: k}"), HasSubstr("both certificate and key"));
  EXPECT_THAT(problem("grpc:\n  tls: {client_ca: a}"), HasSubstr("both certificate and key"));
}

TEST(Config, CollectorInterval_Unsupported_ListsIntervals) {
  EXPECT_TRUE(ParseConfig("c.yaml", "collector: {interval: 1m}").ok());
  const auto config = ParseConfig("c.yaml", "collector:\n  interval: 300ms\n");
  EXPECT_EQ(std::string(config.status().message()),
            "c.yaml:2:13: interval must be one of 100ms, 200ms, 500ms, 1s, 5s, 1m (got 300ms)");
  const auto flags = Flags::Parse(ServiceFlags(), {"--interval", "2s"});
  EXPECT_THAT(std::string(EffectiveConfig(*flags).status().message()), HasSubstr("(got 2s)"));
}

TEST(Config, WebhookOption_NameDependsOnlyOnUrl) {
  const auto names = [](const std::vector<std::string>& urls) {
    std::vector<std::string> arguments = {"--webhook"};
    arguments.insert(arguments.end(), urls.begin(), urls.end());
    const auto config = EffectiveConfig(*Flags::Parse(ServiceFlags(), arguments));
    std::map<std::string, std::string> by_url;
    for (const auto& webhook : config->notifier.receivers.find("webhooks")->second)
      by_url[webhook->Urls().front().second] = webhook->name;
    return by_url;
  };
  auto both = names({"https://a/x", "https://b/y"});
  EXPECT_EQ(both, names({"https://b/y", "https://a/x", "https://b/y"}));
  EXPECT_EQ(both["https://b/y"], names({"https://b/y"})["https://b/y"]);
  EXPECT_NE(both["https://a/x"], both["https://b/y"]);
}

TEST(Config, PrintConfig_SecretSetting_IsHidden) {
  Config config;
  config.log.rdkafka["sasl.password"] = "hunter2";
  EXPECT_THAT(PrintConfig(config), testing::Not(HasSubstr("hunter2")));
}

// --print-config also validates the configuration, and its errors may end up in logs.
TEST(Config, CheckConfig_UrlWithPassword_ErrorOmitsPassword) {
  const std::string url = "https://user:hunter2@host/x";
  const auto problem = [](const std::function<void(Config*)>& set) {
    Config config;
    set(&config);
    return std::string(CheckConfig(config).message());
  };
  const auto with = [&](std::string receiver) {
    receiver.replace(receiver.find("URL"), 3, url);
    return [receiver](Config* config) {
      const auto parsed = ParseConfig("c.yaml", Cat("notifier: {", receiver, "}"));
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      *config = *parsed;
    };
  };
  const std::map<std::string, std::string> problems = {
      {"remote_write", problem([&](Config* c) { c->insights.remote_write.url = url; })},
      {"peers", problem([&](Config* c) {
         c->insights.peers = {"http://a", url};
       })},
      {"external_url", problem([&](Config* c) { c->external_url = url; })},
      {"pods", problem([&](Config* c) { c->collector.pods.url = url; })},
      {"executor.webhook", problem([&](Config* c) { c->executor.webhook.url = url; })},
      {"webhooks", problem(with("webhooks: [{name: a, url: 'URL'}]"))},
      {"alertmanagers", problem(with("alertmanagers: [{name: a, urls: ['URL']}]"))},
      {"gateways", problem(with("gateways: [{name: a, url: 'URL', body: '{}'}]"))},
      {"remote_write ",
       problem([&](Config* c) { c->insights.remote_write.url = "ftp://user:hunter2@host/x"; })},
  };
  for (const auto& [place, message] : problems) {
    EXPECT_THAT(message, HasSubstr(std::string(Trim(place))));
    EXPECT_THAT(message, HasSubstr("user or password"));
    EXPECT_THAT(message, testing::Not(HasSubstr("hunter2")));
  }
}

TEST(Config, ShownUrl_OmitsUserPasswordAndQuery) {
  EXPECT_EQ(ShownUrl("http://p:9090/api/v1/write"), "http://p:9090/api/v1/write");
  EXPECT_EQ(ShownUrl("https://u:p@w@h:1/a?token=t#f"), "https://…@h:1/a?…");
  EXPECT_EQ(ShownUrl("http://h/@x"), "http://h/@x");
  EXPECT_EQ(ShownUrl("u:p@h"), "…@h");
}

}  // namespace
}  // namespace pitwall
