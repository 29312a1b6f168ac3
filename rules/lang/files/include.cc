#include "rules/lang/files/include.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "rules/lang/files/rule_file.h"
#include "services/base/text/did_you_mean.h"
#include "services/base/text/strings.h"
#include "services/base/yaml/yaml.h"

namespace pitwall::lang {
namespace {

using yaml::Node;

// Range of lines [first, last), starting at 1.
struct Lines {
  int first = 1, last = 1;
};

// Splits the text into lines without line breaks.
std::vector<std::string_view> LinesOf(std::string_view text) { return Split(text, '\n'); }

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

// Returns the words in a range of lines that may be series names, ignoring comments.
std::set<std::string_view> WordsOf(const std::vector<std::string_view>& lines, Lines range) {
  std::set<std::string_view> words;
  for (int line = range.first; line < range.last; ++line) {
    std::string_view rest = lines[static_cast<size_t>(line - 1)];
    if (StartsWith(Trim(rest), "#")) continue;
    while (!rest.empty()) {
      const auto end = std::find_if_not(rest.begin(), rest.end(), IsNameByte);
      const auto size = static_cast<size_t>(end - rest.begin());
      if (size > 0) words.insert(rest.substr(0, size));
      rest.remove_prefix(std::max<size_t>(size, 1));
    }
  }
  return words;
}

// Returns the first line after `line` with a top-level key, or the end of the file.
int NextTopLevel(const std::vector<std::string_view>& lines, int line) {
  const int end = static_cast<int>(lines.size()) + 1;
  for (int next = line + 1; next < end; ++next) {
    const std::string_view text = lines[static_cast<size_t>(next - 1)];
    if (!text.empty() && IsNameByte(text[0])) return next;
  }
  return end;
}

// Anchored value that later rules refer to.
struct AnchoredValue {
  std::string alias;  // ": *name"
  std::string text;   // ": [...]", on one line
};

// Returns a flow collection joined into one line, starting at its opening bracket, or "" if it is
// not closed.
std::string FlowText(std::string_view text) {
  std::string out;
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    out += c == '\n' ? ' ' : c;
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else {
      depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
      if (depth == 0) return out;
    }
  }
  return "";
}

// Converts a folded scalar to a quoted scalar on one line. `indent` is the indentation of the line
// with the scalar's key.
std::string FoldedText(std::string_view following, size_t indent) {
  std::string out = "\"";
  for (const std::string_view line : LinesOf(following)) {
    const std::string_view text = Trim(line);
    if (text.empty() || line.find_first_not_of(' ') <= indent) break;
    if (out.size() > 1) out += ' ';
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

// Returns values of the form "key: &name VALUE", which other rules may need after the value's rule
// is blanked. Supports flow collections and folded scalars, and leaves other values unchanged.
std::vector<AnchoredValue> AnchoredValuesOf(std::string_view text) {
  std::vector<AnchoredValue> out;
  for (size_t at = text.find(": &"); at != std::string_view::npos; at = text.find(": &", at + 1)) {
    const size_t end = text.find_first_of(" \n", at + 3);
    if (end == std::string_view::npos) break;
    const std::string_view name = text.substr(at + 3, end - at - 3);
    if (name.empty() || !std::ranges::all_of(name, IsNameByte)) continue;
    const std::string_view value = text.substr(end + 1);
    std::string line;
    if (StartsWith(value, "[") || StartsWith(value, "{")) {
      line = FlowText(value);
    } else if (StartsWith(value, ">-\n")) {
      const size_t begin = text.rfind('\n', at) + 1;  // 0 on the first line
      line = FoldedText(value.substr(3), text.find_first_not_of(' ', begin) - begin);
    }
    if (!line.empty()) out.push_back({.alias = Cat(": *", name), .text = Cat(": ", line)});
  }
  return out;
}

// Pack with the lines of each rule.
class PackRules {
 public:
  explicit PackRules(const RuleSetFile& pack) : text_(pack.text), lines_(LinesOf(text_)) {
    Diagnostics later;  // discarded, because the compiler reports them
    file_ = ParseRuleFile(pack.name, pack.text, &later);
    for (size_t g = 0; g < file_->groups.size(); ++g) {
      const GroupText& group = file_->groups[g];
      const int end = g + 1 < file_->groups.size()
                          ? std::min(file_->groups[g + 1].position.line,
                                     NextTopLevel(lines_, group.position.line))
                          : NextTopLevel(lines_, group.position.line);
      Group& found = groups_.emplace_back();
      found.lines = {group.position.line, end};
      for (size_t r = 0; r < group.rules.size(); ++r) {
        const int last = r + 1 < group.rules.size() ? group.rules[r + 1].position.line : end;
        found.rules.push_back(rules_.size());
        rules_.push_back({&group.rules[r], {group.rules[r].position.line, last}});
      }
    }
  }

  bool Has(std::string_view alert) const {
    return std::ranges::any_of(
        rules_, [&](const Rule& rule) { return rule.text->alert && rule.text->name == alert; });
  }

  std::string Nearest(std::string_view alert) const {
    std::vector<std::string_view> names;
    for (const Rule& rule : rules_) {
      if (rule.text->alert) names.push_back(rule.text->name);
    }
    return DidYouMean(alert, names);
  }

  // Returns the pack with everything blanked except these alerts and the recording rules that they
  // read.
  std::string Only(const std::set<std::string>& alerts) const {
    std::vector<uint8_t> keep(rules_.size(), 0);
    std::vector<size_t> look;
    const auto take = [&](size_t r) {
      if (keep[r] != 0) return;
      keep[r] = 1;
      look.push_back(r);
    };
    for (size_t r = 0; r < rules_.size(); ++r) {
      if (rules_[r].text->alert && alerts.contains(rules_[r].text->name)) take(r);
    }
    while (!look.empty()) {
      const std::set<std::string_view> words = WordsOf(lines_, rules_[look.back()].lines);
      look.pop_back();
      for (size_t r = 0; r < rules_.size(); ++r) {
        if (!rules_[r].text->alert && words.contains(rules_[r].text->name)) take(r);
      }
    }
    std::vector<uint8_t> blank(lines_.size(), 0);
    const auto blank_out = [&](Lines range) {
      std::fill(blank.begin() + range.first - 1, blank.begin() + range.last - 1, uint8_t{1});
    };
    for (const Group& group : groups_) {
      const bool any = std::ranges::any_of(group.rules, [&](size_t r) { return keep[r] != 0; });
      if (!any) blank_out(group.lines);
      for (const size_t r : group.rules) {
        if (keep[r] == 0) blank_out(rules_[r].lines);
      }
    }
    const std::vector<AnchoredValue> values = AnchoredValuesOf(text_);
    std::string out;
    for (size_t i = 0; i < lines_.size(); ++i) {
      const std::string_view line = blank[i] == 0 ? lines_[i] : std::string_view();
      const auto value = std::ranges::find_if(
          values, [&](const AnchoredValue& one) { return EndsWith(line, one.alias); });
      if (value == values.end()) {
        out += line;
      } else {
        CatTo(out, line.substr(0, line.size() - value->alias.size()), value->text);
      }
      if (i + 1 < lines_.size()) out += '\n';
    }
    return out;
  }

 private:
  struct Rule {
    const RuleText* text;
    Lines lines;
  };
  struct Group {
    Lines lines;
    std::vector<size_t> rules;
  };

  const std::string_view text_;
  const std::vector<std::string_view> lines_;
  RuleFilePtr file_;
  std::vector<Group> groups_;
  std::vector<Rule> rules_;
};

// Returns the file's "include" entry, or nullopt if the entry is absent or the file is not YAML.
std::optional<Node::Entry> FindInclude(const RuleSetFile& file) {
  if (file.text.find("include") == std::string::npos) return std::nullopt;
  const StatusOr<Node> root = yaml::ParseYaml(file.name, file.text);
  if (!root.ok()) return std::nullopt;
  const auto entry = std::ranges::find(root->entries(), "include", &Node::Entry::key);
  if (entry == root->entries().end()) return std::nullopt;
  return *entry;
}

// Returns the text with its include commented out.
std::string WithoutInclude(const RuleSetFile& file) {
  const std::optional<Node::Entry> include = FindInclude(file);
  if (!include.has_value()) return file.text;
  const yaml::Position key = include->key_position;
  const std::string_view text = file.text;
  const std::vector<std::string_view> lines = LinesOf(text);
  const int end = NextTopLevel(lines, key.line);
  std::string out;
  for (int line = 1; line <= static_cast<int>(lines.size()); ++line) {
    const std::string_view at = lines[static_cast<size_t>(line - 1)];
    const bool included = line >= key.line && line < end && !Trim(at).empty();
    CatTo(out, included ? "#" : "", at, line < static_cast<int>(lines.size()) ? "\n" : "");
  }
  return out;
}

class Expander {
 public:
  Expander(std::vector<RuleSetFile> files, const PackSource& packs)
      : files_(std::move(files)), packs_(packs) {}

  StatusOr<ExpandedFiles> Run() {
    std::vector<RuleSetFile> each;
    for (RuleSetFile& file : files_) {
      if (std::ranges::find(each, file) == each.end()) each.push_back(std::move(file));
    }
    files_ = std::move(each);
    for (const RuleSetFile& file : files_) {
      ASSIGN_OR_RETURN(std::string text, Follow(file));
      out_.files.push_back({file.name, std::move(text)});
    }
    for (auto& [name, part] : parts_) {
      std::string text = part.whole.has_value()
                             ? *std::move(part.whole)
                             : WithoutInclude({name, PackRules(part.pack).Only(part.alerts)});
      out_.files.push_back({part.pack.name, std::move(text)});
    }
    return std::move(out_);
  }

 private:
  // Included rules of a pack that is not among the given files.
  struct Part {
    RuleSetFile pack;
    std::set<std::string> alerts;
    std::optional<std::string> whole;  // text of the whole pack without its own includes
  };

  // Resolves the file's includes and returns its text without them.
  StatusOr<std::string> Follow(const RuleSetFile& file) {
    const std::optional<Node::Entry> entry = FindInclude(file);
    if (!entry.has_value()) return file.text;
    if (!entry->value.IsSequence())
      return entry->value.Error(Cat("\"include\": expected a list of {pack: NAME, alerts: […]}, ",
                                    "found ", entry->value.KindName()));
    for (const Node& item : entry->value.items()) RETURN_IF_ERROR(Include(file, item));
    return WithoutInclude(file);
  }

  Status Include(const RuleSetFile& by, const Node& item) {
    std::vector<yaml::Problem> problems;
    yaml::StrictMap map(item, "an include", &problems);
    Inclusion wanted{.by = by.name, .pack = map.String("pack").value_or(""), .alerts = {}};
    const Node* const alerts = map.Get("alerts");
    if (alerts != nullptr) wanted.alerts = map.Strings("alerts").value_or(wanted.alerts);
    if (wanted.pack.empty()) map.Add(item.position(), "an include needs \"pack\"");
    if (alerts != nullptr && wanted.alerts.empty())
      map.Add(item.position(), "\"alerts\": expected names; leave it out for the whole pack");
    if (wanted.pack == PackName(by.name)) map.Add(item.position(), "a pack cannot include itself");
    map.Finish();
    if (!problems.empty()) {
      return InvalidArgument(Cat(by.name, ":", problems[0].position.line, ":",
                                 problems[0].position.column, ": ", problems[0].what));
    }
    StatusOr<RuleSetFile> pack = packs_ != nullptr
                                     ? packs_(wanted.pack)
                                     : NotFound("packs are not available in this context");
    if (!pack.ok()) return item.Error(Cat("\"include\": ", ToStd(pack.status().message())));
    const PackRules rules(*pack);
    for (const std::string& alert : wanted.alerts) {
      if (!rules.Has(alert)) {
        return item.Error(Cat("\"include\": pack ", wanted.pack, " has no alert ", Quote(alert),
                              rules.Nearest(alert)));
      }
    }
    out_.inclusions.push_back(wanted);
    for (const RuleSetFile& given : files_) {
      if (PackName(given.name) != wanted.pack) continue;
      if (given.text == pack->text)
        return OkStatus();  // the given file already contains all of its rules
      return item.Error(Cat("\"include\": the rules of pack ", wanted.pack, " are also given as ",
                            given.name,
                            ", with another text; rename that file and its changed alerts, or "
                            "leave one of the two out"));
    }
    const auto [at, fresh] = parts_.try_emplace(wanted.pack);
    if (fresh) at->second.pack = *pack;
    if (!wanted.alerts.empty()) {
      at->second.alerts.insert(wanted.alerts.begin(), wanted.alerts.end());
    } else if (!at->second.whole.has_value()) {
      // Set before the recursion so that an include cycle ends here.
      at->second.whole = pack->text;
      ASSIGN_OR_RETURN(std::string text, Follow(*pack));
      parts_.find(wanted.pack)->second.whole = std::move(text);
    }
    return OkStatus();
  }

  std::vector<RuleSetFile> files_;
  const PackSource& packs_;
  std::map<std::string, Part> parts_;
  ExpandedFiles out_;
};

}  // namespace

StatusOr<ExpandedFiles> ExpandIncludes(std::vector<RuleSetFile> files, const PackSource& packs) {
  return Expander(std::move(files), packs).Run();
}

}  // namespace pitwall::lang
