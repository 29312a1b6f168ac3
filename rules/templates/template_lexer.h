// Lexer that splits a template into text and actions, and an action into tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::templates {

struct Token {
  enum class Kind {
    kText,      // between actions, trimmed
    kOpen,      // {{
    kClose,     // }}
    kName,      // foo, if, end
    kVariable,  // $foo, $
    kField,     // .foo; `spaced` if it is separated from the previous token
    kDot,       // .
    kString,    // text: the value
    kNumber,    // text: as written
    kPipe,      // |
    kDeclare,   // :=
    kAssign,    // =
    kComma,     // , of {{range $i, $x := …}}
    kLeft,      // (
    kRight,     // )
    kEnd,       // of the template
  };
  Kind kind = Kind::kEnd;
  std::string text;
  bool spaced = true;
  size_t at = 0;     // byte offset
  size_t after = 0;  // byte offset of the end
};

// Line and column (both from 1) of a byte offset, as "LINE:COL".
std::string Place(std::string_view text, size_t at);

// Tokens of a whole template without comments. Errors have the form "LINE:COL: cause".
StatusOr<std::vector<Token>> Tokenize(std::string_view text);

}  // namespace pitwall::templates
