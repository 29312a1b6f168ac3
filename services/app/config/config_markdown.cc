#include <utility>

#include "services/app/config/config_keys.h"
#include "services/app/config/service_flags.h"
#include "services/base/duration.h"
#include "services/base/text/strings.h"

namespace pitwall {

namespace {

constexpr std::string_view kHead = R"(# Configuration

`pitwall standalone --print-config --markdown` prints this page from the table that the parser uses. `ninja config_docs` writes it to
the repository, and the test `config_docs` fails if it is stale.

Every service reads one YAML file (`--config FILE`). Options override it, and `--print-config` prints the effective configuration. The parser
is strict: an unknown key, a wrong type, and a value out of range are errors with file, line, and column. Durations are written as in
Prometheus: `500ms`, `30s`, `1h30m`, `7d`. The file never has secrets, only their locations. A change requires a restart, except for the
rules and `collector.interval`, which SIGHUP reloads.

)";

constexpr std::string_view kTail = R"(
## An example

```yaml
rules: {files: ["pack:default"]}
notifier:
  webhooks:
    - {name: on-call, url: "https://hooks.example.org/pitwall", severities: [critical], secrets: ["env:PITWALL_WEBHOOK_SECRET"]}
executor:
  enabled: true
  budget: 3
  cool_down: 30m
  policies:
    - {rule: "starter/*/LossNotFinite", mode: live, grace: 60s}   # stops the job
    - {rule: "*", mode: dry_run}                          # records the decision only
```
)";

// Escapes text for use in a table cell.
std::string Cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

class Markdown final : public ConfigKeys {
 public:
  std::string Take() { return std::move(out_); }

  void Text(std::string_view key, std::string* field, std::string_view help) override {
    Row(key, "text", field->empty() ? "" : Cat("`", *field, "`"), "", help);
  }
  void Choice(std::string_view key, const std::vector<std::string_view>& choices,
              std::string* field, std::string_view help) override {
    std::vector<std::string> names;
    for (const std::string_view choice : choices) names.push_back(Cat("`", choice, "`"));
    Row(key, "choice", Cat("`", *field, "`"), Join(names, ", "), help);
  }
  void Bool(std::string_view key, bool* field, std::string_view help) override {
    Row(key, "bool", *field ? "`true`" : "`false`", "", help);
  }
  void Count(std::string_view key, const CountRange& range, int64_t* field,
             std::string_view help) override {
    const std::string most = range.most == INT64_MAX ? "" : Cat(" to ", range.most);
    Row(key, "integer", Cat("`", *field, "`"),
        Cat(range.most == INT64_MAX ? "from " : "", range.least, most,
            range.unit.empty() ? "" : " ", range.unit),
        help);
  }
  void Duration(std::string_view key, int64_t* nanoseconds, std::string_view help) override {
    Row(key, "duration", Cat("`", FormatDuration(*nanoseconds), "`"), "", help);
  }
  void Texts(std::string_view key, std::vector<std::string>*, std::string_view help) override {
    Row(key, "list of texts", "`[]`", "", help);
  }
  void TextMap(std::string_view key, std::map<std::string, std::string>*,
               std::string_view help) override {
    Row(key, "map of texts", "`{}`", "", help);
  }
  void Section(std::string_view key, std::string_view help,
               const std::function<void()>& keys) override {
    if (path_.empty()) {
      CatTo(out_, "\n## ", key, "\n\n", help, "\n\n");
      Begin();
    } else {
      Row(key, "section", "", "", help);
    }
    Inside(Cat(key, "."), keys);
  }
  void Begin() { out_ += "| key | type | default | values | meaning |\n|---|---|---|---|---|\n"; }

 protected:
  void Items(std::string_view key, std::string_view, std::string_view help,
             const Sequence& items) override {
    Row(key, "list", "`[]`", "", help);
    items.append();
    Inside(Cat(key, "[]."), [&] { items.visit(items.size); });
  }

 private:
  void Inside(std::string_view prefix, const std::function<void()>& keys) {
    const std::string outer = path_;
    path_ += prefix;
    keys();
    path_ = outer;
  }
  void Row(std::string_view key, std::string_view type, std::string_view standard,
           std::string_view values, std::string_view help) {
    CatTo(out_, "| `", path_, key, "` | ", type, " | ", standard, " | ", values, " | ", Cell(help),
          " |\n");
  }

  std::string out_;
  std::string path_;
};

}  // namespace

std::string ConfigAsMarkdown() {
  Config config;
  Markdown page;
  page.Begin();
  VisitConfig(page, config);
  std::string out = Cat(kHead, page.Take(),
                        "\n## Options of the services\n\n| option | services | meaning |\n"
                        "|---|---|---|\n");
  for (const FlagSpec& option : ServiceFlags()) {
    CatTo(out, "| `", OptionText(option), "` | ", ServicesOfOption(option.name), " | ",
          Cell(option.help),
          option.default_value.empty() ? "" : Cat(" (default: `", option.default_value, "`)"),
          " |\n");
  }
  return Cat(out, kTail);
}

}  // namespace pitwall
