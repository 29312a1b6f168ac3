#include "services/notifier/routing/issue_matchers.h"

#include <algorithm>

#include "services/base/text/strings.h"

namespace pitwall::notifier {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  StatusOr<std::vector<Matcher>> Run() {
    std::vector<Matcher> out;
    const bool braces = Take('{');
    while (!(braces && Take('}'))) {
      ASSIGN_OR_RETURN(Matcher matcher, One(braces));
      out.push_back(std::move(matcher));
      if (Take(',')) continue;
      if (braces && !Take('}')) return Fail("expected , or }");
      break;
    }
    Blank();
    if (at_ < text_.size()) return Fail("expected a comma before the next matcher");
    if (out.empty()) return Fail("expected a matcher");
    return out;
  }

 private:
  void Blank() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool Take(char c) {
    Blank();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Status Fail(std::string_view what) const {
    return InvalidArgument(Cat("matcher ", Quote(text_), " at ", at_ + 1, ": ", what,
                               "; specify label=\"value\" with =, !=, =~, or !~"));
  }

  StatusOr<Matcher> One(bool braces) {
    Blank();
    const size_t begin = at_;
    const auto in_name = [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
             (c >= '0' && c <= '9' && at_ > begin);
    };
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name.empty()) return Fail("expected a label name");
    Blank();
    static constexpr std::pair<std::string_view, MatchOp> kOps[] = {{"=~", MatchOp::kRegex},
                                                                    {"!~", MatchOp::kNotRegex},
                                                                    {"!=", MatchOp::kNotEqual},
                                                                    {"=", MatchOp::kEqual}};
    for (const auto& [token, op] : kOps) {
      if (!StartsWith(text_.substr(at_), token)) continue;
      at_ += token.size();
      ASSIGN_OR_RETURN(const std::string value, Value(braces));
      StatusOr<Matcher> matcher = Matcher::Make(name, op, value);
      if (!matcher.ok()) return Fail(ToStd(matcher.status().message()));
      return matcher;
    }
    return Fail("expected =, !=, =~, or !~");
  }

  StatusOr<std::string> Value(bool braces) {
    Blank();
    std::string out;
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      const char quote = text_[at_++];
      for (; at_ < text_.size(); ++at_) {
        if (text_[at_] == quote) {
          ++at_;
          return out;
        }
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
          const char next = text_[++at_];
          out.push_back(next == 'n' ? '\n' : next == 't' ? '\t' : next);
        } else {
          out.push_back(text_[at_]);
        }
      }
      return Fail("unterminated quote");
    }
    while (at_ < text_.size() && text_[at_] != ',' && !(braces && text_[at_] == '}') &&
           text_[at_] != '"') {
      out.push_back(text_[at_++]);
    }
    return std::string(Trim(out));
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

bool IssueMatchers::Matches(const IssueEvent& event) const {
  return std::all_of(matchers.begin(), matchers.end(), [&](const Matcher& matcher) {
    return matcher.Matches(MatchedLabel(event, matcher.label()));
  });
}

std::vector<std::string> IssueMatchers::Texts() const {
  std::vector<std::string> texts;
  for (const Matcher& matcher : matchers) texts.push_back(matcher.ToString());
  return texts;
}

StatusOr<std::vector<Matcher>> ParseMatchers(std::string_view text) { return Reader(text).Run(); }

StatusOr<IssueMatchers> ParseIssueMatchers(const std::vector<std::string>& texts) {
  IssueMatchers out;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(std::vector<Matcher> matchers, ParseMatchers(text));
    for (Matcher& matcher : matchers) out.matchers.push_back(std::move(matcher));
  }
  if (out.matchers.empty())
    return InvalidArgument(
        "matchers: must not be empty; specify at least one, for example severity=\"critical\"");
  return out;
}

std::string MatchedLabel(const IssueEvent& event, std::string_view name) {
  if (name == "alertname") return event.alert;
  if (name == "severity") return event.severity;
  if (name == "job") return event.job_name.empty() ? event.job : event.job_name;
  if (name == "pitwall_job") return event.job;
  if (name == "owner") return event.owner;
  if (name == "rule") return event.rule;
  if (name == "pack") return event.rule.substr(0, event.rule.find('/'));
  if (name == "incident") return event.incident;
  if (name == "issue") return event.rule.empty() ? "" : IssueId(event);
  return std::string(event.labels.Get(name));
}

}  // namespace pitwall::notifier
