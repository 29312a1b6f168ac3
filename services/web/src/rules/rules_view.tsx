// Rules tab: all rules with their verdicts, criteria, parameters, and missing inputs.
import { count, plural, shownNumber } from "../parts/format.ts";
import { useIssues, useJob, useRules } from "../api/load.ts";
import { Cut, Head, Num, Panel, Reading, Time } from "../parts/parts.tsx";
import { place, setQuery } from "../route.ts";
import { judged, order, RuleState } from "./rule_table.tsx";
import { SetParameter } from "./set_parameter.tsx";
import { supplies } from "./supplies.ts";
import type { TabProps } from "../parts/tab_props.ts";
import type { CloudEvent, Issue, JobDetail, Rule } from "../api/types.ts";

// Rules with issues or errors come first.
function active(rule: Rule): boolean {
  return rule.found > 0 || ["IssuesFound", "Error"].includes(rule.status);
}

const sources: Record<string, string> = { set: " (set by a person)", overrides: " (overrides file)" };

function Body({
  job,
  rule,
  issue,
  actions,
}: {
  job: JobDetail;
  rule: Rule;
  issue: Issue | undefined;
  actions: CloudEvent[];
}) {
  const made = rule.definition;
  const used = issue?.event.data.parameters ?? {};
  const how = rule.status === "NoData" ? supplies(rule.reason, job.ranks > 0) : "";
  if (!made && !issue)
    return (
      <div class="body">
        <p class="dim">
          {rule.reason || "This server does not run the rule. No details are available."}
          {how && `. ${how}.`}
        </p>
      </div>
    );
  const names = [...new Set([...(made?.parameters ?? []).map((one) => one.name), ...Object.keys(used)])];
  return (
    <div class="body">
      {rule.reason && (
        <p class="wrap">
          <strong>{rule.status === "NoData" ? "Missing input:" : "Reason:"}</strong> {rule.reason}
          {how && `. ${how}.`}
        </p>
      )}
      <p class="wrap">{made?.description || issue?.event.data.description}</p>
      {(made?.suggestion || issue?.event.data.suggestion) && (
        <p class="wrap">
          <strong>What to do:</strong> {issue?.event.data.suggestion || made?.suggestion}
        </p>
      )}
      {issue && (
        <p class="wrap">
          <strong>Latest issue:</strong>{" "}
          <a href={`${place.value.path}?issue=${issue.id}`}>{issue.summary.slice(0, 300) || issue.alert}</a>
        </p>
      )}
      {made && (
        <p class="wrap dim">
          Fires when{" "}
          <span class="code" data-field="expression">
            {made.expression}
          </span>{" "}
          holds for {made.for}. Clock: {made.clock}. Inputs: <span class="code">{made.needs.join(", ") || "none"}</span>
        </p>
      )}
      {names.length > 0 && (
        <table class="plain">
          <Head
            of={["Parameter", "Default|number", "For this job|number", "As evaluated|number", "Unit", "Description"]}
          />
          <tbody>
            {names.map((name) => {
              const one = made?.parameters.find((parameter) => parameter.name === name);
              return (
                <tr key={name}>
                  <th scope="row" class="code">
                    {name}
                  </th>
                  <Num>{one?.default}</Num>
                  <Num data-field={`now-${name}`}>
                    {one?.now}
                    <span class="small">{sources[one?.source ?? ""]}</span>
                  </Num>
                  <Num data-field={`used-${name}`}>{used[name] === undefined ? "" : shownNumber(used[name])}</Num>
                  <td>{one?.unit}</td>
                  <td class="wrap">{one?.help}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      <SetParameter job={job} rule={rule.rule} made={made} actions={actions} />
    </div>
  );
}

export function RulesView({ job }: TabProps) {
  const loaded = useRules(job.id);
  const issues = useIssues(job.id);
  const actions = useJob<{ actions: CloudEvent[] }>("/actions", job.id, ["action"]);
  if (!loaded.data) return <Reading loaded={loaded} what="rules" />;
  const rules = loaded.data.rules.map(judged);
  const words = (place.value.query.get("rule") ?? "").toLowerCase();
  const shown = rules
    .filter((rule) => `${rule.rule} ${rule.status} ${rule.reason}`.toLowerCase().includes(words))
    .sort(
      (a, b) =>
        Number(active(b)) - Number(active(a)) ||
        order.indexOf(a.status) - order.indexOf(b.status) ||
        (a.rule < b.rule ? -1 : 1),
    );
  return (
    <Panel
      title="Rules"
      id="rules-title"
      note={`${plural(rules.length, "rule")}, ${count(rules.filter(active).length)} with issues or errors, ${count(rules.filter((rule) => rule.status === "NoData").length)} without data`}
    >
      <p class="asks">
        <label>
          Filter{" "}
          <input type="search" value={words} onInput={(event) => setQuery({ rule: event.currentTarget.value })} />
        </label>
      </p>
      {rules.length === 0 && <p class="dim pad">No rule has reported a status for this job yet.</p>}
      <div class="rulelist">
        {shown.map((rule) => {
          const issue = issues.data?.issues.find((one) => one.rule === rule.rule);
          return (
            <details key={rule.rule} data-rule={rule.rule} data-quiet={active(rule) ? undefined : ""}>
              <summary>
                <RuleState rule={rule} />
                <Cut text={rule.rule} class="code" />
                <Cut
                  text={
                    issue?.summary ||
                    (rule.status === "NoData" && rule.reason) ||
                    rule.definition?.description ||
                    rule.reason
                  }
                  class="dim"
                />
                <Time ns={rule.since_ns} />
                <span class="number">{rule.found ? plural(rule.found, "issue") : ""}</span>
              </summary>
              <Body job={job} rule={rule} issue={issue} actions={actions.data?.actions ?? []} />
            </details>
          );
        })}
      </div>
    </Panel>
  );
}
