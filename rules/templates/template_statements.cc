// Parser for actions with blocks: if, with, range, define, template, and block.
#include <utility>

#include "rules/templates/template_parser.h"
#include "services/base/text/strings.h"

namespace pitwall::templates {

Parser::Parser(std::string_view text, std::vector<Token> tokens, TemplateBody* body)
    : tokens_(text, std::move(tokens)), body_(body), expressions_(&tokens_, &scope_, body) {}

Status Parser::Run() {
  std::string stop;
  RETURN_IF_ERROR(ParseBlock(&body_->block, 0, &stop));
  if (!stop.empty()) return tokens_.Error(tokens_.Peek(), Cat("unexpected {{", stop, "}}"));
  for (const auto& [name, token] : calls_) {
    if (!body_->templates.contains(name))
      return tokens_.Error(token, Cat("template ", Quote(name), " not defined"));
  }
  return OkStatus();
}

Status Parser::ParseBlock(Block* block, int depth, std::string* stop) {
  if (depth > kMaxParseDepth) return tokens_.Error(tokens_.Peek(), "nested too deeply");
  while (true) {
    const Token token = tokens_.Next();
    if (token.kind == Token::Kind::kEnd) {
      stop->clear();
      return OkStatus();
    }
    if (token.kind == Token::Kind::kText) {
      Statement text;
      text.text = token.text;
      block->statements.push_back(std::move(text));
      continue;
    }
    // Parses one action.
    body_->constant = false;
    Statement statement;
    const Token first = tokens_.Peek();
    if (first.kind == Token::Kind::kName) {
      const std::string& word = first.text;
      if (word == "end" || word == "else") {
        *stop = word;
        return OkStatus();
      }
      if (word == "define") {
        if (depth > 0) return tokens_.Error(first, "unexpected {{define}}");
        tokens_.Next();
        RETURN_IF_ERROR(ParseDefine(depth));
        continue;
      }
      const bool control = word == "if" || word == "with";
      const bool loop = word == "break" || word == "continue";
      if (control || loop || word == "range" || word == "template" || word == "block") {
        tokens_.Next();
        if (control) {
          RETURN_IF_ERROR(ParseControl(&statement, word, depth));
        } else if (word == "range") {
          RETURN_IF_ERROR(ParseRange(&statement, depth));
        } else if (loop) {
          if (ranges_ == 0) return tokens_.Error(first, Cat("{{", word, "}} outside {{range}}"));
          statement.kind = word == "break" ? Statement::Kind::kBreak : Statement::Kind::kContinue;
          RETURN_IF_ERROR(tokens_.Close(word));
        } else {
          RETURN_IF_ERROR(ParseCall(&statement, word == "block", depth));
        }
        block->statements.push_back(std::move(statement));
        continue;
      }
    }
    const Declaration declaration = ParseDeclaration();
    ASSIGN_OR_RETURN(statement.expr, expressions_.ParsePipeline("command", depth));
    RETURN_IF_ERROR(tokens_.Close("command"));
    statement.kind = Statement::Kind::kPrint;
    if (declaration.there) {
      statement.kind = Statement::Kind::kSet;
      ASSIGN_OR_RETURN(statement.slot, Declare(declaration.token, declaration.declares));
    }
    block->statements.push_back(std::move(statement));
  }
}

Status Parser::ParseControl(Statement* statement, std::string_view word, int depth) {
  const size_t scope = scope_.Enter();
  statement->kind = word == "if" ? Statement::Kind::kIf : Statement::Kind::kWith;
  const Declaration declaration = ParseDeclaration();
  if (tokens_.Peek().kind == Token::Kind::kClose)
    return tokens_.Error(tokens_.Peek(), Cat("missing value for ", word));
  ASSIGN_OR_RETURN(statement->expr, expressions_.ParsePipeline(word, depth));
  RETURN_IF_ERROR(tokens_.Close(word));
  if (declaration.there) {
    ASSIGN_OR_RETURN(statement->slot, Declare(declaration.token, declaration.declares));
    statement->has_slot = true;
  }
  statement->then = std::make_unique<Block>();
  std::string stop;
  const size_t inner = scope_.Enter();
  RETURN_IF_ERROR(ParseBlock(statement->then.get(), depth + 1, &stop));
  scope_.Leave(inner);
  if (stop == "else" && tokens_.Ahead(1).kind == Token::Kind::kName &&
      (tokens_.Ahead(1).text == "if" || tokens_.Ahead(1).text == "with")) {
    // {{else if x}} is equivalent to {{else}}{{if x}} with a shared {{end}}.
    tokens_.Next();
    const std::string nested_word = tokens_.Next().text;
    if (depth + 1 > kMaxParseDepth) return tokens_.Error(tokens_.Peek(), "nested too deeply");
    statement->otherwise = std::make_unique<Block>();
    Statement nested;
    RETURN_IF_ERROR(ParseControl(&nested, nested_word, depth + 1));
    statement->otherwise->statements.push_back(std::move(nested));
    scope_.Leave(scope);
    return OkStatus();
  }
  RETURN_IF_ERROR(ParseRest(statement, word, depth, std::move(stop)));
  scope_.Leave(scope);
  return OkStatus();
}

Status Parser::ParseRest(Statement* statement, std::string_view word, int depth, std::string stop) {
  if (stop == "else") {
    tokens_.Next();
    statement->otherwise = std::make_unique<Block>();
    RETURN_IF_ERROR(tokens_.Close("else"));
    RETURN_IF_ERROR(ParseBlock(statement->otherwise.get(), depth + 1, &stop));
    if (stop == "else") return tokens_.Error(tokens_.Peek(), "expected end; found {{else}}");
  }
  if (stop.empty())
    return tokens_.Error(tokens_.End(), Cat("unexpected EOF: no {{end}} for {{", word, "}}"));
  tokens_.Next();
  return tokens_.Close("end");
}

Status Parser::ParseRange(Statement* statement, int depth) {
  const size_t scope = scope_.Enter();
  statement->kind = Statement::Kind::kRange;
  const Declaration declaration = ParseDeclaration(/*range=*/true);
  if (tokens_.Peek().kind == Token::Kind::kClose)
    return tokens_.Error(tokens_.Peek(), "missing value for range");
  ASSIGN_OR_RETURN(statement->expr, expressions_.ParsePipeline("range", depth));
  RETURN_IF_ERROR(tokens_.Close("range"));
  body_->varies = true;  // the collection may have changed
  if (declaration.there) {
    ASSIGN_OR_RETURN(statement->slot, Declare(declaration.token, declaration.declares));
    statement->has_slot = true;
  }
  if (declaration.second) {
    // In $i, $x, the first variable is the index or key.
    statement->has_key = true;
    statement->key_slot = statement->slot;
    ASSIGN_OR_RETURN(statement->slot, Declare(declaration.second_token, declaration.declares));
  }
  statement->then = std::make_unique<Block>();
  std::string stop;
  const size_t inner = scope_.Enter();
  ++ranges_;
  RETURN_IF_ERROR(ParseBlock(statement->then.get(), depth + 1, &stop));
  --ranges_;
  scope_.Leave(inner);
  RETURN_IF_ERROR(ParseRest(statement, "range", depth, std::move(stop)));
  scope_.Leave(scope);
  return OkStatus();
}

StatusOr<Token> Parser::ParseName(std::string_view word) {
  Token name = tokens_.Next();
  if (name.kind != Token::Kind::kString) return tokens_.Unexpected(name, Cat(word, " clause"));
  return name;
}

// The body of a separate template has no access to the enclosing variables.
Status Parser::ParseBody(std::string_view word, const Token& name, int depth) {
  auto [place, inserted] = body_->templates.emplace(name.text, Block());
  if (!inserted)
    return tokens_.Error(name, Cat("template ", Quote(name.text), " is defined twice"));
  VariableScope outer = std::exchange(scope_, VariableScope::OfSeparateTemplate());
  const int ranges = std::exchange(ranges_, 0);
  Block block;
  std::string stop;
  RETURN_IF_ERROR(ParseBlock(&block, depth + 1, &stop));
  if (stop == "else") return tokens_.Error(tokens_.Peek(), "unexpected {{else}}");
  if (stop.empty())
    return tokens_.Error(tokens_.End(), Cat("unexpected EOF: no {{end}} for {{", word, "}}"));
  tokens_.Next();
  RETURN_IF_ERROR(tokens_.Close("end"));
  scope_ = std::move(outer);
  ranges_ = ranges;
  body_->templates[name.text] = std::move(block);
  return OkStatus();
}

Status Parser::ParseDefine(int depth) {
  ASSIGN_OR_RETURN(const Token name, ParseName("define"));
  RETURN_IF_ERROR(tokens_.Close("define"));
  return ParseBody("define", name, depth);
}

Status Parser::ParseCall(Statement* statement, bool block, int depth) {
  const std::string_view word = block ? "block" : "template";
  statement->kind = Statement::Kind::kTemplate;
  ASSIGN_OR_RETURN(const Token name, ParseName(word));
  statement->text = name.text;
  statement->at = name.at;
  if (tokens_.Peek().kind != Token::Kind::kClose) {
    ASSIGN_OR_RETURN(statement->expr, expressions_.ParsePipeline(word, depth));
  } else if (block) {
    return tokens_.Error(tokens_.Peek(), "missing value for block");
  }
  RETURN_IF_ERROR(tokens_.Close(word));
  if (block) return ParseBody("block", name, depth);
  calls_.emplace_back(name.text, name);
  return OkStatus();
}

Parser::Declaration Parser::ParseDeclaration(bool range) {
  Declaration out;
  if (tokens_.Peek().kind != Token::Kind::kVariable) return out;
  Token::Kind next = tokens_.Ahead(1).kind;
  if (range && next == Token::Kind::kComma && tokens_.Ahead(2).kind == Token::Kind::kVariable) {
    next = tokens_.Ahead(3).kind;
    if (next != Token::Kind::kDeclare && next != Token::Kind::kAssign) return out;
    out.token = tokens_.Next();
    tokens_.Next();
    out.second = true;
    out.second_token = tokens_.Next();
  } else {
    if (next != Token::Kind::kDeclare && next != Token::Kind::kAssign) return out;
    out.token = tokens_.Next();
  }
  out.there = true;
  out.declares = next == Token::Kind::kDeclare;
  tokens_.Next();
  return out;
}

StatusOr<uint32_t> Parser::Declare(const Token& token, bool declares) {
  const std::string& name = token.text;
  if (declares) {
    if (name == "$") return tokens_.Unexpected(token, "declaration");
    scope_.Declare(name, body_->slots);
    return body_->slots++;
  }
  const Variable* variable = scope_.Find(name);
  if (variable == nullptr) return tokens_.Error(token, Cat("undefined variable ", Quote(name)));
  if (variable->slot < kBuiltinSlots) return tokens_.Error(token, Cat("cannot assign to ", name));
  return variable->slot;
}

}  // namespace pitwall::templates
