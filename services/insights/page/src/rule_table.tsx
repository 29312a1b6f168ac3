// What every rule says of the job. A rule that cannot judge tells what it misses.
import { useState } from "preact/hooks";
import { count, plural } from "./format.ts";
import type { Loaded } from "./load.ts";
import { Cut, Head, Num, Panel, Reading, Time } from "./parts.tsx";
import type { Rule } from "./types.ts";

export const looks: Record<string, [string, string, string]> = {
  IssuesFound: ["◆", "issues found", "warn"],
  Error: ["✕", "error", "bad"],
  NoData: ["○", "cannot judge", "note"],
  InProgress: ["◔", "in progress", "calm"],
  NoIssuesFound: ["✓", "no issues", "good"],
  Unknown: ["–", "not judged", "calm"],
};
// What the rule says of the job: after the job's end its last word before that.
export function verdict(rule: Rule): [status: string, reason: string] {
  return rule.status === "Stopped" ? [rule.verdict, rule.verdict_reason] : [rule.status, rule.reason];
}
export const order = ["IssuesFound", "Error", "NoData", "InProgress", "Unknown", "NoIssuesFound"];

// What brings the series that a rule misses, by their first word. The collector has hardware, the client the training.
export function supplies(reason: string): string {
  if (!reason.startsWith("no series of ")) return "";
  if (/withheld/.test(reason)) return "";
  const names = reason.slice("no series of ".length).split(/[;,]\s*/);
  if (names.some((name) => /^(hw_|system_|gpu|node)/.test(name))) return "run the collector on the job's nodes: pitwall collector";
  if (names.some((name) => /^(train_|rank:|job:|stage:|tensor_|loss)/.test(name))) return "use the Python client in the training: import pitwall";
  return "";
}

export function RuleTable({ loaded }: { loaded: Loaded<{ rules: Rule[] }> }) {
  const [all, setAll] = useState(false);
  const rules = (loaded.data?.rules ?? []).map((rule) => {
    const [status, reason] = verdict(rule);
    return { ...rule, over: rule.status === "Stopped", status, reason };
  });
  rules.sort((a, b) => order.indexOf(a.status) - order.indexOf(b.status) || (a.rule < b.rule ? -1 : 1));
  const tally = order.map((status) => [status, rules.filter((rule) => rule.status === status).length] as const).filter(([, n]) => n > 0);
  const quiet = rules.filter((rule) => rule.status === "NoIssuesFound");
  const shown = all ? rules : rules.filter((rule) => !quiet.includes(rule));
  return (
    <Panel title="Rules" id="rules-title" note={tally.map(([status, n]) => `${count(n)} ${looks[status]?.[1]}`).join(", ")}>
      <Reading loaded={loaded} what="Rules" />
      {loaded.data && rules.length === 0 && <p class="dim pad">No rule told a status of this job yet.</p>}
      {shown.length > 0 && (
        <table class="rules">
          <Head of={["Status|w-state", "Rule", "Why|w-why", "Since|w-start", "Found|w-count number"]} />
          <tbody>
            {shown.map((rule) => {
              const [mark, text, tone] = looks[rule.status] ?? ["?", rule.status, "calm"];
              const how = rule.status === "NoData" ? supplies(rule.reason) : "";
              return (
                <tr key={rule.rule} data-rule={rule.rule}>
                  <td><span class={`state ${tone}`} title={rule.over ? `${rule.status}, then stopped` : rule.status}><span aria-hidden="true">{mark}</span> {text}</span></td>
                  <th scope="row"><Cut text={rule.rule} class="code" /></th>
                  <td class="wrap">{rule.reason || <span class="dim">{rule.ever_found && rule.status === "NoIssuesFound" ? "found something before" : ""}</span>}{how && <span class="dim small block">{how}</span>}</td>
                  <td><Time ns={rule.since_ns} /></td>
                  <Num>{count(rule.found)}</Num>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      {quiet.length > 0 && <p class="pad"><button type="button" aria-expanded={all} onClick={() => setAll(!all)}>{all ? "Hide" : "Show"} {plural(quiet.length, "rule")} without issues</button></p>}
    </Panel>
  );
}
