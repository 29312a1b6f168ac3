#include <algorithm>
#include <optional>
#include <utility>

#include "rules/templates/template_parser.h"
#include "services/base/text/strings.h"

namespace pitwall::templates {
namespace {

constexpr size_t kMaxText = 64 * 1024;

// Parses the position at the beginning of a message such as "2:6: cause".
ParseProblem Locate(std::string_view text, std::string_view message) {
  const size_t colon = message.find(':');
  const size_t second = message.find(':', colon + 1);
  if (second == std::string_view::npos) return {0, std::string(message)};
  const auto line = ParseInt(message.substr(0, colon));
  const auto column = ParseInt(message.substr(colon + 1, second - colon - 1));
  if (!line || !column) return {0, std::string(message)};
  size_t at = 0;
  for (int64_t l = 1; l < *line; ++l) at = text.find('\n', at) + 1;
  at = std::min(at + static_cast<size_t>(*column) - 1, text.size());
  return {at, std::string(Trim(message.substr(second + 1)))};
}

}  // namespace

StatusOr<Template> Template::Parse(std::string_view name, std::string_view text,
                                   ParseProblem* problem) {
  auto body = std::make_shared<TemplateBody>();
  body->name = name;
  if (text.size() > kMaxText) {
    if (problem != nullptr) *problem = {0, Cat("template is longer than ", kMaxText, " bytes")};
    return InvalidArgument(Cat(name, ": template is longer than ", kMaxText, " bytes"));
  }
  // Messages already start with LINE:COL.
  const auto annotate = [&](const Status& status) {
    const std::string_view message = ToStd(status.message());
    if (problem != nullptr) *problem = Locate(text, message);
    return InvalidArgument(Cat(name, ":", message));
  };
  StatusOr<std::vector<Token>> tokens = Tokenize(text);
  if (!tokens.ok()) return annotate(tokens.status());
  if (const Status status = Parser(text, *std::move(tokens), body.get()).Run(); !status.ok()) {
    return annotate(status);
  }
  std::sort(body->parameters.begin(), body->parameters.end());
  body->parameters.erase(std::unique(body->parameters.begin(), body->parameters.end()),
                         body->parameters.end());
  Template out;
  out.body_ = std::move(body);
  return out;
}

bool Template::varies() const { return body_ != nullptr && body_->varies; }
bool Template::constant() const { return body_ == nullptr || body_->constant; }
const std::vector<std::string>& Template::parameters() const {
  static const std::vector<std::string> none;
  return body_ == nullptr ? none : body_->parameters;
}
const std::vector<LabelUse>& Template::labels() const {
  static const std::vector<LabelUse> none;
  return body_ == nullptr ? none : body_->labels;
}
const std::vector<TemplateQuery>& Template::queries() const {
  static const std::vector<TemplateQuery> none;
  return body_ == nullptr ? none : body_->queries;
}

}  // namespace pitwall::templates
