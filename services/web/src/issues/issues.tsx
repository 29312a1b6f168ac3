// Issues of a job. Each one expands to show its evidence, criterion, and activity.
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { duration, plural, secondsBetween, shownNumber } from "../parts/format.ts";
import { IssueBody } from "./issue_body.tsx";
import { useKeys } from "../parts/keys.ts";
import { asOfText, Cut, Panel, Severity, severityRank, silencedText, Time, whoOf } from "../parts/parts.tsx";
import { place, setQuery } from "../route.ts";
import type { Issue, IssueDetail, JobDetail, Rule } from "../api/types.ts";

const step = 50; // rows added at a time

function inOrder(issues: Issue[], first: string): Issue[] {
  return [...issues].sort(
    (a, b) =>
      Number(b.id === first) - Number(a.id === first) ||
      Number(b.open) - Number(a.open) ||
      (a.open ? severityRank(a.severity) - severityRank(b.severity) : 0) ||
      (BigInt(b.started_ns ?? 0) > BigInt(a.started_ns ?? 0) ? 1 : -1),
  );
}

export function Issues({
  job,
  issues,
  total,
  rules,
}: {
  job: JobDetail;
  issues: Issue[];
  total: number;
  rules: Rule[];
}) {
  const wanted = place.value.query.get("issue") ?? "";
  const [marked, setMarked] = useState(-1);
  const [most, setMost] = useState(step);
  // A link may contain the ID of one of the issue's events, or a prefix of the issue ID.
  const direct = issues.find((issue) => issue.id === wanted)?.id;
  const open = direct ?? "";
  const [missing, setMissing] = useState("");
  useEffect(() => {
    if (!wanted || direct) return;
    let gone = false;
    get<IssueDetail>("/issue", { job: job.id, id: wanted }).then(
      (issue) => gone || setQuery({ issue: issue.id }),
      (error: unknown) => gone || setMissing(error instanceof Error ? error.message : String(error)),
    );
    return () => {
      gone = true;
    };
  }, [wanted, direct, job.id]);

  // The linked issue comes first, next to its incident.
  const [linked, setLinked] = useState(wanted ? null : "");
  useEffect(() => {
    if (linked === null && open) setLinked(open);
  }, [linked, open]);
  const rows = inOrder(issues, linked ?? open);
  const openAt = rows.findIndex((issue) => issue.id === open);
  const listed = rows.slice(0, Math.max(most, openAt + 1));
  const toggle = (id: string) => setQuery({ issue: id === open ? "" : id });
  useEffect(() => {
    if (open && open !== linked) document.getElementById(`issue-${open}`)?.scrollIntoView({ block: "nearest" });
  }, [open]);
  const move = (by: number) => {
    const next = Math.max(0, Math.min(listed.length - 1, marked + by));
    setMarked(next);
    // Move the focus too, because the button handles Enter.
    document.querySelector<HTMLElement>(`#issue-${listed[next]?.id} > button`)?.focus();
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
  });

  const openCount = issues.filter((issue) => issue.open).length;
  return (
    <Panel title="Issues" id="issues-title" note={`${openCount} open, ${total - openCount} ended`}>
      {wanted && !open && missing && (
        <p class="fault" role="alert">
          Could not load the linked issue: {missing}
        </p>
      )}
      {issues.length === 0 && <p class="dim pad">No issues found so far.</p>}
      <ul class="issues">
        {listed.map((issue, i) => (
          <li
            key={issue.id}
            id={`issue-${issue.id}`}
            class={`${issue.open ? "" : "ended"} ${i === marked ? "marked" : ""}`}
          >
            <button type="button" class="issue" aria-expanded={issue.id === open} onClick={() => toggle(issue.id)}>
              <span class="arrow" aria-hidden="true">
                {issue.id === open ? "▾" : "▸"}
              </span>
              <Severity name={issue.severity} />
              <span class="what">
                <Cut text={(issue.summary || issue.alert) + asOfText(job, issue)} />
                <span class="dim small">
                  <Cut text={`${issue.alert} · ${whoOf(issue.labels)}`} />
                  {issue.silenced && <Cut text={silencedText(issue)} class="silenced" />}
                </span>
              </span>
              <span class="when number">
                <Time ns={issue.onset_ns} />
                <span class="dim small">
                  {issue.open ? "for " : `${(issue.end_reason || "ended").replaceAll("_", " ")} after `}
                  {duration(secondsBetween(issue.onset_ns, issue.ended_ns ?? job.last_ns))}
                </span>
              </span>
              <span class="value number">
                {shownNumber(issue.event.data.value)}
                <span class="dim small">
                  {issue.threshold === null ? "no threshold" : `threshold ${shownNumber(issue.threshold)}`}
                </span>
              </span>
            </button>
            {issue.id === open && (
              <IssueBody
                job={job}
                id={issue.id}
                above={issue.id === linked}
                rule={rules.find((rule) => rule.rule === issue.rule)?.definition ?? null}
              />
            )}
          </li>
        ))}
      </ul>
      {listed.length < rows.length && (
        <p class="pad">
          <button type="button" onClick={() => setMost(most + step)}>
            Show {plural(Math.min(step, rows.length - listed.length), "more issue")}
          </button>
        </p>
      )}
    </Panel>
  );
}
