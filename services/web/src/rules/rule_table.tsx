// Table of the job's rules with their verdicts. A rule without data names the missing series.
import { useState } from "preact/hooks";
import { count, plural } from "../parts/format.ts";
import type { Loaded } from "../api/load.ts";
import { Cut, Head, Mark, Num, Panel, Reading, Time } from "../parts/parts.tsx";
import { supplies } from "./supplies.ts";
import type { JobDetail, Rule } from "../api/types.ts";

const looks: Record<string, [string, string, string]> = {
  IssuesFound: ["◆", "Issues found", "warn"],
  Error: ["✕", "Error", "bad"],
  NoData: ["○", "No data", "note"],
  InProgress: ["◔", "In progress", "calm"],
  NoIssuesFound: ["✓", "No issues", "good"],
  Unknown: ["–", "Not evaluated", "calm"],
};
// Returns the rule's verdict on the job: its status, or its last status while the job had data.
export function verdict(rule: Rule): [status: string, reason: string] {
  return [rule.verdict, rule.verdict_reason];
}
// Returns the rule with its verdict as its status. `over` is true if the rule has since been removed.
export function judged(rule: Rule): Rule & { over: boolean } {
  const [status, reason] = verdict(rule);
  return { ...rule, over: rule.status === "Stopped", status, reason };
}

export function RuleState({ rule }: { rule: Rule & { over: boolean } }) {
  const [mark, text, tone] = looks[rule.status] ?? ["?", rule.status, "calm"];
  return (
    <span class={`state ${tone}`} title={rule.over ? `${rule.status}, then removed` : rule.status}>
      <Mark of={mark} />
      {text}
    </span>
  );
}

export const order = ["IssuesFound", "Error", "NoData", "InProgress", "Unknown", "NoIssuesFound"];

export function RuleTable({ job, loaded }: { job: JobDetail; loaded: Loaded<{ rules: Rule[] }> }) {
  const [all, setAll] = useState(false);
  const rules = (loaded.data?.rules ?? []).map(judged);
  rules.sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status) || (a.rule < b.rule ? -1 : 1));
  const tally = order
    .map((status) => [status, rules.filter((rule) => rule.status === status).length] as const)
    .filter(([, n]) => n > 0);
  const quiet = rules.filter((rule) => rule.status === "NoIssuesFound");
  // Rules share a row if the same command supplies their missing input.
  const rows = new Map<string, (typeof rules)[0][]>();
  for (const rule of all ? rules : rules.filter((one) => !quiet.includes(one))) {
    const key = rule.status === "NoData" ? supplies(rule.reason, job.ranks > 0) || rule.reason : rule.rule;
    rows.set(key, [...(rows.get(key) ?? []), rule]);
  }
  return (
    <Panel
      title="Rules"
      id="rules-title"
      note={tally.map(([status, n]) => `${looks[status]?.[1]}: ${count(n)}`).join(" · ")}
    >
      <Reading loaded={loaded} what="rules" />
      {loaded.data && rules.length === 0 && <p class="dim pad">No rule has reported a status for this job yet.</p>}
      {rows.size > 0 && (
        <table class="rules">
          <Head of={["Status|w-state", "Rule", "Reason|w-why", "Since|w-start", "Found|w-count number"]} />
          <tbody>
            {[...rows].map(
              ([how, [rule, ...more]]) =>
                rule && (
                  <tr key={how} data-rule={rule.rule}>
                    <td>
                      <RuleState rule={rule} />
                    </td>
                    <th scope="row">
                      {more.length ? (
                        <details>
                          <summary>{plural(more.length + 1, "rule")}</summary>
                          {[rule, ...more].map((one) => (
                            <p key={one.rule} class="small wrap">
                              <span class="code">{one.rule}</span> <span class="dim">{one.reason}</span>
                            </p>
                          ))}
                        </details>
                      ) : (
                        <Cut text={rule.rule} class="code" />
                      )}
                    </th>
                    <td class="wrap">
                      {more.length
                        ? how
                        : rule.reason || (
                            <span class="dim">
                              {rule.ever_found && rule.status === "NoIssuesFound" ? "found issues earlier" : ""}
                            </span>
                          )}
                      {!more.length && rule.status === "NoData" && how !== rule.reason && (
                        <span class="dim small block">{how}</span>
                      )}
                    </td>
                    <td>{!more.length && <Time ns={rule.since_ns} />}</td>
                    <Num>{more.length ? "" : count(rule.found)}</Num>
                  </tr>
                ),
            )}
          </tbody>
        </table>
      )}
      {quiet.length > 0 && (
        <p class="pad">
          <button type="button" aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? "Hide" : "Show"} {plural(quiet.length, "rule")} without issues
          </button>
        </p>
      )}
    </Panel>
  );
}
