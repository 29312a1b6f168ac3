// Lexer that splits a template into text and actions, and actions into tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "services/base/status.h"

namespace pitwall::templates {

struct Token {
  enum class Kind {
    kText,      // text between actions, after trimming
    kOpen,      // {{
    kClose,     // }}
    kName,      // foo, if, or end
    kVariable,  // $foo or $
    kField,     // .foo; `spaced` if whitespace separates it from the previous token
    kDot,       // .
    kString,    // `text` is the unescaped value
    kNumber,    // `text` is the number as written
    kPipe,      // |
    kDeclare,   // :=
    kAssign,    // =
    kComma,     // , in {{range $i, $x := …}}
    kLeft,      // (
    kRight,     // )
    kEnd,       // end of the template
  };
  Kind kind = Kind::kEnd;
  std::string text;
  bool spaced = true;
  size_t at = 0;     // byte offset of the start
  size_t after = 0;  // byte offset of the end
};

// Converts a byte offset to "LINE:COL", both starting at 1.
std::string Place(std::string_view text, size_t at);

// Splits a whole template into tokens and drops comments. Errors have the form "LINE:COL: cause".
StatusOr<std::vector<Token>> Tokenize(std::string_view text);

}  // namespace pitwall::templates
