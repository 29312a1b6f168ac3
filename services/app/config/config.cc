#include "services/app/config/config.h"

#include <algorithm>
#include <utility>

#include "services/app/config/config_keys.h"
#include "services/app/config/receiver_config.h"
#include "services/app/config/secret_ref.h"
#include "services/base/duration.h"
#include "services/base/terminal.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/yaml.h"
#include "services/model/matcher.h"

namespace pitwall {

namespace {

using yaml::Node;
using yaml::Problem;
using yaml::StrictMap;

// Visitor that reads the fields from a YAML tree and collects all problems.
class Reader final : public ConfigKeys {
 public:
  Reader(StrictMap* top, std::vector<Problem>* problems) : map_(top), problems_(problems) {}

  void Text(std::string_view key, std::string* field, std::string_view) override {
    Take(map_->String(key), field);
  }
  void Choice(std::string_view key, const std::vector<std::string_view>& choices,
              std::string* field, std::string_view) override {
    std::optional<std::string> value = map_->String(key);
    if (!value.has_value()) return;
    if (std::find(choices.begin(), choices.end(), *value) == choices.end()) {
      const std::vector<std::string> names(choices.begin(), choices.end());
      map_->Add(map_->Get(key)->position(),
                Cat(key, " must be one of ", Join(names, ", "), " (got ", Quote(*value), ")"));
      return;
    }
    *field = *std::move(value);
  }
  void Bool(std::string_view key, bool* field, std::string_view) override {
    Take(map_->Bool(key), field);
  }
  void Count(std::string_view key, const CountRange& range, int64_t* field,
             std::string_view) override {
    Take(map_->Int(key, range.least, range.most), field);
  }
  void Duration(std::string_view key, int64_t* nanoseconds, std::string_view) override {
    Take(map_->Duration(key), nanoseconds);
  }
  void Texts(std::string_view key, std::vector<std::string>* field, std::string_view) override {
    Take(map_->Strings(key), field);
  }
  void TextMap(std::string_view key, std::map<std::string, std::string>* field,
               std::string_view) override {
    for (const auto& [name, node] : map_->Scalars(key)) (*field)[name] = node->scalar();
  }
  void Section(std::string_view key, std::string_view, const std::function<void()>& keys) override {
    if (const Node* node = map_->Get(key); node != nullptr) Inside(*node, key, keys);
  }
  void CheckValue(std::string_view key, const std::string& problem) override {
    const Node* node = map_->Get(key);
    if (!problem.empty()) map_->Add(node ? node->position() : map_->KeyPosition(key), problem);
  }
  void CheckKey(std::string_view key, const std::string& problem) override {
    if (!problem.empty()) map_->Add(map_->KeyPosition(key), problem);
  }

 protected:
  void Items(std::string_view key, std::string_view what, std::string_view,
             const Sequence& items) override {
    const Node* list = map_->Get(key);
    if (list == nullptr) return;
    if (!list->IsSequence()) {
      map_->Add(list->position(), Cat(key, " must be a list (got ", list->KindName(), ")"));
      return;
    }
    size_t at = items.size;
    for (const Node& item : list->items()) {
      items.append();
      Inside(item, what, [&] { items.visit(at++); });
    }
  }

 private:
  template <typename T>
  static void Take(std::optional<T> value, T* field) {
    if (value.has_value()) *field = *std::move(value);
  }
  void Inside(const Node& node, std::string_view what, const std::function<void()>& keys) {
    StrictMap section(node, what, problems_);
    StrictMap* const outer = std::exchange(map_, &section);
    keys();
    section.Finish();
    map_ = outer;
  }

  StrictMap* map_;
  std::vector<Problem>* const problems_;
};

// Returns a YAML scalar that parses to exactly this string.
std::string Scalar(std::string_view value) {
  // A single-quoted scalar would turn line breaks into spaces.
  if (HasControl(value)) {
    std::string out;
    for (const char c : value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return Cat("\"", TerminalLine(out), "\"");
  }
  std::string out = "'";
  for (const char c : value) {
    out += c;
    if (c == '\'') out += '\'';
  }
  return out + "'";
}

// Visitor that prints YAML, with sections as blocks and each list item on one line.
class Printer final : public ConfigKeys {
 public:
  std::string Take() { return std::move(out_); }

  void Text(std::string_view key, std::string* field, std::string_view) override {
    Put(key, Scalar(*field));
  }
  void Choice(std::string_view key, const std::vector<std::string_view>&, std::string* field,
              std::string_view) override {
    Put(key, *field);
  }
  void Bool(std::string_view key, bool* field, std::string_view) override {
    Put(key, *field ? "true" : "false");
  }
  void Count(std::string_view key, const CountRange&, int64_t* field, std::string_view) override {
    Put(key, Cat(*field));
  }
  void Duration(std::string_view key, int64_t* nanoseconds, std::string_view) override {
    Put(key, FormatDuration(*nanoseconds));
  }
  void Texts(std::string_view key, std::vector<std::string>* field, std::string_view) override {
    std::vector<std::string> quoted;
    for (const std::string& value : *field) quoted.push_back(Scalar(value));
    Put(key, Cat("[", Join(quoted, ", "), "]"));
  }
  void TextMap(std::string_view key, std::map<std::string, std::string>* field,
               std::string_view) override {
    if (field->empty()) return;
    Section(key, "", [&] {
      for (const auto& [name, value] : *field) {
        // These settings may contain passwords.
        const bool secret = name.find("password") != std::string::npos ||
                            name.find("secret") != std::string::npos ||
                            name.find("key.pem") != std::string::npos ||
                            name.find("oauthbearer.config") != std::string::npos;
        Put(Scalar(name), secret ? std::string("'<hidden>'") : Scalar(value));
      }
    });
  }
  void Section(std::string_view key, std::string_view, const std::function<void()>& keys) override {
    if (inline_) {
      Put(key, "{");
      first_ = true;
      keys();
      out_ += "}";
      first_ = false;
      return;
    }
    CatTo(out_, indent_, key, ":\n");
    indent_ += "  ";
    keys();
    indent_.resize(indent_.size() - 2);
  }

 protected:
  void Items(std::string_view key, std::string_view, std::string_view,
             const Sequence& items) override {
    const bool nested = inline_;
    if (nested) {
      Put(key, "[");
    } else {
      CatTo(out_, indent_, key, ":", items.size == 0 ? " []\n" : "\n");
    }
    for (size_t i = 0; i < items.size; ++i) {
      out_ += nested ? (i > 0 ? ", {" : "{") : Cat(indent_, "  - {");
      inline_ = first_ = true;
      items.visit(i);
      inline_ = nested;
      out_ += nested ? "}" : "}\n";
    }
    first_ = false;
    if (nested) out_ += "]";
  }

 private:
  void Put(std::string_view key, std::string_view value) {
    if (inline_) {
      CatTo(out_, first_ ? "" : ", ", key, ": ", value);
      first_ = false;
    } else {
      CatTo(out_, indent_, key, ": ", value, "\n");
    }
  }

  std::string out_;
  std::string indent_;
  bool inline_ = false;
  bool first_ = false;
};

}  // namespace

StatusOr<Config> ParseConfig(std::string_view file_name, std::string_view text) {
  ASSIGN_OR_RETURN(const Node root, yaml::ParseYaml(file_name, text));
  Config config;
  std::vector<Problem> problems;
  StrictMap top(root, "the configuration", &problems);
  Reader reader(&top, &problems);
  VisitConfig(reader, config);
  top.Finish();
  RETURN_IF_ERROR(yaml::ToStatus(root, problems));
  return config;
}

std::string PrintConfig(const Config& config) {
  Config effective = config;
  effective.collector.socket = config.Socket();
  effective.collector.spool_dir = config.SpoolDir();
  Printer printer;
  VisitConfig(printer, effective);
  return printer.Take();
}

StatusOr<uint32_t> ParseSocketMode(std::string_view text) {
  uint32_t mode = 0;
  for (const char c : text) {
    if (c < '0' || c > '7' || text.size() > 4) {
      mode = 01000;
      break;
    }
    mode = mode * 8 + static_cast<uint32_t>(c - '0');
  }
  if (text.empty() || mode > 0777) {
    return InvalidArgument(Cat("socket_mode: must be a file mode (got ", Quote(text),
                               "); use octal digits such as 0660"));
  }
  return mode;
}

StatusOr<processor::PartitionShare> ParseShare(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto index = ParseInt(text.substr(0, slash));
    const auto count = ParseInt(text.substr(slash + 1));
    if (index.has_value() && count.has_value() && *index >= 0 && *index < *count && *count <= 1024)
      return processor::PartitionShare{static_cast<int32_t>(*index), static_cast<int32_t>(*count)};
  }
  return InvalidArgument(Cat("share: must be <index>/<count> (got ", Quote(text),
                             "); for three processes, use 0/3, 1/3, and 2/3"));
}

namespace {

bool IsWebUrl(std::string_view url) {
  return StartsWith(url, "http://") || StartsWith(url, "https://");
}

// Rejects URLs that contain a password. Must run before all other checks, because --print-config
// and error messages print URLs.
Status CheckAddresses(const Config& config) {
  std::vector<std::pair<std::string, std::string>> urls = {
      {"insights.remote_write.url", config.insights.remote_write.url},
      {"external_url", config.external_url},
      {"collector.pods.url", config.collector.pods.url},
      {"executor.webhook.url", config.executor.webhook.url}};
  for (const std::string& peer : config.insights.peers) urls.emplace_back("insights.peers", peer);
  for (const notifier::ReceiverKind& kind : notifier::ReceiverKinds()) {
    const auto list = config.notifier.receivers.find(kind.key);
    if (list == config.notifier.receivers.end()) continue;
    for (const auto& settings : list->second) {
      for (auto& [key, url] : settings->Urls())
        urls.emplace_back(Cat("notifier.", kind.key, ".", key), std::move(url));
    }
  }
  for (const auto& [place, url] : urls) {
    // A value of the form file:PATH is the location of a secret, not a URL.
    if (StartsWith(url, "file:") || StartsWith(url, "env:")) continue;
    RETURN_IF_ERROR(Annotate(CheckUrlWithoutSecrets(url), place));
  }
  return OkStatus();
}

Status CheckRemoteWrite(const RemoteWriteConfig& remote) {
  if (remote.url.empty()) return OkStatus();
  if (!IsWebUrl(remote.url))
    return InvalidArgument(
        Cat("url: must begin with http:// or https:// (got ", Quote(ShownUrl(remote.url)), ")"));
  if (!remote.token_file.empty() && !remote.user.empty())
    return InvalidArgument("token_file: cannot be combined with user; specify only one of them");
  if (remote.user.empty() != remote.password_file.empty())
    return InvalidArgument("user: requires password_file; specify both or neither");
  for (const auto* patterns : {&remote.metrics, &remote.labels}) {
    for (const std::string& pattern : *patterns)
      RETURN_IF_ERROR(Matcher::Make("", MatchOp::kRegex, pattern).status());
  }
  return OkStatus();
}

Status CheckInsights(const InsightsConfig& insights) {
  if (!insights.share.empty()) RETURN_IF_ERROR(ParseShare(insights.share).status());
  for (const std::string& peer : insights.peers) {
    if (!IsWebUrl(peer))
      return InvalidArgument(
          Cat("peers: must begin with http:// or https:// (got ", Quote(ShownUrl(peer)), ")"));
  }
  return Annotate(CheckRemoteWrite(insights.remote_write), "remote_write");
}

}  // namespace

Status CheckConfig(const Config& config) {
  RETURN_IF_ERROR(CheckAddresses(config));
  if (!config.processor.share.empty())
    RETURN_IF_ERROR(Annotate(ParseShare(config.processor.share).status(), "processor"));
  RETURN_IF_ERROR(Annotate(CheckInsights(config.insights), "insights"));
  if (config.reload_interval_ns != 0 && config.reload_interval_ns < 100 * kNanosPerMilli)
    return InvalidArgument(Cat("reload_interval: must be 0s (disabled) or at least 100ms (got ",
                               FormatDuration(config.reload_interval_ns), ")"));
  if (config.log.kind == "kafka" && config.log.brokers.empty()) {
    return InvalidArgument(
        "log.brokers: value is missing; log.kind kafka requires host:port,host:port");
  }
  if (config.rules.evaluation_interval_ns <= 0) {
    return InvalidArgument("rules.evaluation_interval: must be a duration above 0");
  }
  if (config.processor.commit_interval_ns <= 0 || config.processor.snapshot_interval_ns <= 0) {
    return InvalidArgument(
        "processor.commit_interval, processor.snapshot_interval: must be durations above 0");
  }
  if (const std::string problem = IntervalProblem(config.collector.interval_ns); !problem.empty())
    return InvalidArgument(Cat("collector.interval: ", problem));
  RETURN_IF_ERROR(Annotate(ParseSocketMode(config.collector.socket_mode).status(), "collector"));
  const CollectorLimitsConfig& limits = config.collector.limits;
  if (limits.hello_timeout_ns < kNanosPerSecond || limits.idle_timeout_ns < 5 * kNanosPerSecond) {
    return InvalidArgument(
        "collector.limits: hello_timeout must be at least 1s and idle_timeout at least 5s, because "
        "clients send a heartbeat every second");
  }
  if (config.data_dir.empty()) return InvalidArgument("data_dir: must not be empty");
  const std::string& url = config.external_url;
  if (!url.empty() && !StartsWith(url, "http://") && !StartsWith(url, "https://"))
    return InvalidArgument(
        Cat("external_url: must begin with http:// or https:// (got ", Quote(ShownUrl(url)), ")"));
  return CheckReceivers(config);
}

}  // namespace pitwall
