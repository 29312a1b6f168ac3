// Conversion of the left side of a rule's criterion, which the rule compares against its threshold, to a history query.
// The input is the rule in its displayed form, in which every operand with an operator is in parentheses.

// Returns the first operator outside brackets and quotes, and its index.
function firstOperator(text: string): [number, string] | null {
  let depth = 0;
  let quote = "";
  for (let i = 0; i < text.length; ++i) {
    const c = text[i] as string;
    if (quote) {
      if (c === "\\") ++i;
      else if (c === quote) quote = "";
    } else if (c === '"' || c === "'") quote = c;
    else if ("([{".includes(c)) ++depth;
    else if (")]}".includes(c)) --depth;
    else if (!depth) {
      const found = /^ (and|or|unless|[<>]=?|[=!]=) /.exec(text.slice(i, i + 8));
      if (found) return [i, found[1] as string];
    }
  }
  return null;
}

// Returns the left side of the comparison, or an empty string for `or` or without a comparison. A condition after `and`
// or `unless` is ignored.
export function leftSide(text: string): string {
  const found = firstOperator(text);
  if (!found) return /^\(.*\)$/s.test(text) ? leftSide(text.slice(1, -1)) : "";
  const [at, operator] = found;
  if (operator === "or") return "";
  const left = text.slice(0, at);
  return /^[a-z]/.test(operator) ? leftSide(left) : left;
}

// Returns the query for one job, with the parameter values that the rule used, or an empty string if the history lacks
// the input (for example, other rules' series).
export function queryOf(expression: string, needs: string[], job: string, parameters: Record<string, unknown>): string {
  const left = leftSide(expression).replace(/\$(\w+)/g, (whole, name: string) => String(parameters[name] ?? whole));
  const bare = left.replace(/"[^"]*"/g, "");
  if (!left || /[\w]:[a-z_]|\$|\[\d+\]|\[attempt/.test(bare)) return "";
  return needs.reduce(
    (query, name) =>
      query.replace(
        new RegExp(`(?<![\\w:])${name}(?![\\w:])(\\{)?`, "g"),
        (_, brace) => `${name}{pitwall_job=${JSON.stringify(job)}${brace ? "," : "}"}`,
      ),
    left,
  );
}
