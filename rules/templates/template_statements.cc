// Parser for actions with blocks: if, with, range, define, template, and block.
#include "rules/templates/template_parser.h"

namespace pitwall::templates {

Status Parser::ParseBlock(Block* block, int depth, std::string* stop) {
  if (depth > kMaxParseDepth) return Error(Peek(), "nested too deeply");
  while (true) {
    const Token token = Next();
    if (token.kind == Kind::kEnd) {
      stop->clear();
      return OkStatus();
    }
    if (token.kind == Kind::kText) {
      Statement text;
      text.text = token.text;
      block->statements.push_back(std::move(text));
      continue;
    }
    // Parses one action.
    body_->constant = false;
    Statement statement;
    const Token first = Peek();
    if (first.kind == Kind::kName) {
      const std::string& word = first.text;
      if (word == "end" || word == "else") {
        *stop = word;
        return OkStatus();
      }
      if (word == "define") {
        if (depth > 0) return Error(first, "unexpected {{define}}");
        Next();
        RETURN_IF_ERROR(ParseDefine(depth));
        continue;
      }
      const bool control = word == "if" || word == "with";
      const bool loop = word == "break" || word == "continue";
      if (control || loop || word == "range" || word == "template" || word == "block") {
        Next();
        if (control) {
          RETURN_IF_ERROR(ParseControl(&statement, word, depth));
        } else if (word == "range") {
          RETURN_IF_ERROR(ParseRange(&statement, depth));
        } else if (loop) {
          if (ranges_ == 0) return Error(first, Cat("{{", word, "}} outside {{range}}"));
          statement.kind = word == "break" ? Statement::Kind::kBreak : Statement::Kind::kContinue;
          RETURN_IF_ERROR(Close(word));
        } else {
          RETURN_IF_ERROR(ParseCall(&statement, word == "block", depth));
        }
        block->statements.push_back(std::move(statement));
        continue;
      }
    }
    const Declaration declaration = ParseDeclaration();
    ASSIGN_OR_RETURN(statement.expr, ParsePipeline("command", depth));
    RETURN_IF_ERROR(Close("command"));
    statement.kind = Statement::Kind::kPrint;
    if (declaration.there) {
      statement.kind = Statement::Kind::kSet;
      ASSIGN_OR_RETURN(statement.slot, Declare(declaration.token, declaration.declares));
    }
    block->statements.push_back(std::move(statement));
  }
}

Status Parser::ParseControl(Statement* statement, std::string_view word, int depth) {
  const size_t scope = variables_.size();
  statement->kind = word == "if" ? Statement::Kind::kIf : Statement::Kind::kWith;
  const Declaration declaration = ParseDeclaration();
  if (Peek().kind == Kind::kClose) return Error(Peek(), Cat("missing value for ", word));
  ASSIGN_OR_RETURN(statement->expr, ParsePipeline(word, depth));
  RETURN_IF_ERROR(Close(word));
  if (declaration.there) {
    ASSIGN_OR_RETURN(statement->slot, Declare(declaration.token, declaration.declares));
    statement->has_slot = true;
  }
  statement->then = std::make_unique<Block>();
  std::string stop;
  const size_t inner = variables_.size();
  RETURN_IF_ERROR(ParseBlock(statement->then.get(), depth + 1, &stop));
  variables_.resize(inner);
  if (stop == "else" && tokens_[at_ + 1].kind == Kind::kName &&
      (tokens_[at_ + 1].text == "if" || tokens_[at_ + 1].text == "with")) {
    // {{else if x}} is equivalent to {{else}}{{if x}} with a shared {{end}}.
    Next();
    const std::string nested_word = Next().text;
    if (depth + 1 > kMaxParseDepth) return Error(Peek(), "nested too deeply");
    statement->otherwise = std::make_unique<Block>();
    Statement nested;
    RETURN_IF_ERROR(ParseControl(&nested, nested_word, depth + 1));
    statement->otherwise->statements.push_back(std::move(nested));
    variables_.resize(scope);
    return OkStatus();
  }
  RETURN_IF_ERROR(ParseRest(statement, word, depth, std::move(stop)));
  variables_.resize(scope);
  return OkStatus();
}

Status Parser::ParseRest(Statement* statement, std::string_view word, int depth, std::string stop) {
  if (stop == "else") {
    Next();
    statement->otherwise = std::make_unique<Block>();
    RETURN_IF_ERROR(Close("else"));
    RETURN_IF_ERROR(ParseBlock(statement->otherwise.get(), depth + 1, &stop));
    if (stop == "else") return Error(Peek(), "expected end; found {{else}}");
  }
  if (stop.empty())
    return Error(tokens_.back(), Cat("unexpected EOF: no {{end}} for {{", word, "}}"));
  Next();
  return Close("end");
}

Status Parser::ParseRange(Statement* statement, int depth) {
  const size_t scope = variables_.size();
  statement->kind = Statement::Kind::kRange;
  const Declaration declaration = ParseDeclaration(/*range=*/true);
  if (Peek().kind == Kind::kClose) return Error(Peek(), "missing value for range");
  ASSIGN_OR_RETURN(statement->expr, ParsePipeline("range", depth));
  RETURN_IF_ERROR(Close("range"));
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
  const size_t inner = variables_.size();
  ++ranges_;
  RETURN_IF_ERROR(ParseBlock(statement->then.get(), depth + 1, &stop));
  --ranges_;
  variables_.resize(inner);
  RETURN_IF_ERROR(ParseRest(statement, "range", depth, std::move(stop)));
  variables_.resize(scope);
  return OkStatus();
}

StatusOr<Token> Parser::ParseName(std::string_view word) {
  Token name = Next();
  if (name.kind != Kind::kString) return Unexpected(name, Cat(word, " clause"));
  return name;
}

// The body of a separate template has no access to the enclosing variables.
Status Parser::ParseBody(std::string_view word, const Token& name, int depth) {
  auto [place, inserted] = body_->templates.emplace(name.text, Block());
  if (!inserted) return Error(name, Cat("template ", Quote(name.text), " is defined twice"));
  std::vector<Variable> outer = {{"$", kRootSlot}};
  std::swap(outer, variables_);
  const int ranges = std::exchange(ranges_, 0);
  const bool defining = std::exchange(defining_, true);
  Block block;
  std::string stop;
  RETURN_IF_ERROR(ParseBlock(&block, depth + 1, &stop));
  if (stop == "else") return Error(Peek(), "unexpected {{else}}");
  if (stop.empty())
    return Error(tokens_.back(), Cat("unexpected EOF: no {{end}} for {{", word, "}}"));
  Next();
  RETURN_IF_ERROR(Close("end"));
  std::swap(outer, variables_);
  ranges_ = ranges;
  defining_ = defining;
  body_->templates[name.text] = std::move(block);
  return OkStatus();
}

Status Parser::ParseDefine(int depth) {
  ASSIGN_OR_RETURN(const Token name, ParseName("define"));
  RETURN_IF_ERROR(Close("define"));
  return ParseBody("define", name, depth);
}

Status Parser::ParseCall(Statement* statement, bool block, int depth) {
  const std::string_view word = block ? "block" : "template";
  statement->kind = Statement::Kind::kTemplate;
  ASSIGN_OR_RETURN(const Token name, ParseName(word));
  statement->text = name.text;
  statement->at = name.at;
  if (Peek().kind != Kind::kClose) {
    ASSIGN_OR_RETURN(statement->expr, ParsePipeline(word, depth));
  } else if (block) {
    return Error(Peek(), "missing value for block");
  }
  RETURN_IF_ERROR(Close(word));
  if (block) return ParseBody("block", name, depth);
  calls_.emplace_back(name.text, name);
  return OkStatus();
}

Parser::Declaration Parser::ParseDeclaration(bool range) {
  Declaration out;
  if (Peek().kind != Kind::kVariable) return out;
  Kind next = tokens_[at_ + 1].kind;
  if (range && next == Kind::kComma && tokens_[at_ + 2].kind == Kind::kVariable) {
    next = tokens_[at_ + 3].kind;
    if (next != Kind::kDeclare && next != Kind::kAssign) return out;
    out.token = Next();
    Next();
    out.second = true;
    out.second_token = Next();
  } else {
    if (next != Kind::kDeclare && next != Kind::kAssign) return out;
    out.token = Next();
  }
  out.there = true;
  out.declares = next == Kind::kDeclare;
  Next();
  return out;
}

StatusOr<uint32_t> Parser::Declare(const Token& token, bool declares) {
  const std::string& name = token.text;
  if (declares) {
    if (name == "$") return Unexpected(token, "declaration");
    variables_.push_back({name, body_->slots});
    return body_->slots++;
  }
  const Variable* variable = Find(name);
  if (variable == nullptr) return Error(token, Cat("undefined variable ", Quote(name)));
  if (variable->slot < kBuiltinSlots) return Error(token, Cat("cannot assign to ", name));
  return variable->slot;
}

// Parses a query. The query text is a literal such as "up" or a printf of constants, so it is known
// at load time and can be compiled with the rule.
StatusOr<ExprPtr> Parser::ParseQuery(const Token& name, ExprPtr call) {
  if (call->arguments.size() != 1) {
    return Error(name, Cat("wrong number of args for query: want 1 got ", call->arguments.size()));
  }
  const Expr& text = *call->arguments[0];
  const auto literal = [](const Expr& expr) { return expr.kind == Expr::Kind::kLiteral; };
  std::string query;
  bool constant = false;
  if (literal(text) && std::holds_alternative<std::string>(text.literal)) {
    query = std::get<std::string>(text.literal);
    constant = true;
  } else if (text.kind == Expr::Kind::kCall && text.function != nullptr &&
             text.function->name == "printf") {
    constant = std::holds_alternative<std::string>(text.arguments[0]->literal);
    std::vector<Value> values;
    for (const ExprPtr& argument : text.arguments) {
      constant = constant && literal(*argument);
      values.push_back(argument->literal);
    }
    if (constant) {
      query = GoPrintf(std::get<std::string>(values[0]), std::span(values).subspan(1));
    }
  }
  if (!constant) {
    return Error(name,
                 "the text of a query must be constant: it is compiled with the rule, before any "
                 "label or value is known. Query all series and pick among them ({{ range query "
                 "\"…\" }}{{ if eq .Labels.x $labels.x }}…), or bring the value into expr");
  }
  call->kind = Expr::Kind::kQuery;
  call->slot = static_cast<uint32_t>(body_->queries.size());
  body_->queries.push_back({std::move(query), text.at, text.at + text.text.size()});
  body_->varies = true;
  return call;
}

}  // namespace pitwall::templates
