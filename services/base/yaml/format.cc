#include "services/base/yaml/format.h"

#include <algorithm>

#include "services/base/text/strings.h"

namespace pitwall::yaml {

namespace {

// Quotes a scalar that is or may be read as something else.
bool IsSafe(std::string_view text) {
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-' || c == '+' || c == '/';
  });
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '"':
      case '\\':
        out += '\\';
        [[fallthrough]];
      default:
        out += c;
    }
  }
  return out + "\"";
}

// A negative number is the only plain scalar with a leading minus that may be typed.
std::string ScalarText(const std::string& text, bool quoted) {
  const std::string_view body =
      StartsWith(text, "-") ? std::string_view(text).substr(1) : std::string_view(text);
  return !quoted && IsSafe(body) ? text : Quoted(text);
}

// Appends the value of a key or item, from the position after `key:` or `-`.
void Append(const Node& node, size_t indent, bool in_item, std::string* out);

void AppendEntries(const Node& map, size_t indent, bool in_item, std::string* out) {
  bool first = in_item;
  for (const Node::Entry& entry : map.entries()) {
    if (!first) out->append(indent, ' ');
    first = false;
    CatTo(*out, ScalarText(entry.key, false), ":");
    Append(entry.value, indent + (entry.value.IsMap() ? 2 : 0), false, out);
  }
}

void Append(const Node& node, size_t indent, bool in_item, std::string* out) {
  const bool empty = node.items().empty() && node.entries().empty();
  if (node.IsNull()) {
    *out += " null\n";
  } else if (node.IsScalar()) {
    CatTo(*out, " ", ScalarText(node.scalar(), node.quoted()), "\n");
  } else if (empty) {
    *out += node.IsMap() ? " {}\n" : " []\n";
  } else if (node.IsMap()) {
    *out += in_item ? " " : "\n";
    AppendEntries(node, indent, in_item, out);
  } else {
    if (in_item) indent += 2;
    *out += '\n';
    for (const Node& item : node.items()) {
      out->append(indent, ' ');
      *out += '-';
      Append(item, indent + (item.IsMap() ? 2 : 0), true, out);
    }
  }
}

}  // namespace

std::string FormatYaml(const Node& root) {
  std::string out;
  if (root.IsMap() && !root.entries().empty()) {
    AppendEntries(root, 0, false, &out);
    return out;
  }
  Append(root, 0, false, &out);
  return out.substr(1);
}

}  // namespace pitwall::yaml
