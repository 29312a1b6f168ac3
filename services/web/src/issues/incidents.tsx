// Open incidents, each with its summary, location, start time, cost, cause, and action taken.
import { get } from "../api/client.ts";
import { count, duration, percent, plural, secondsBetween } from "../parts/format.ts";
import { useLoad } from "../api/load.ts";
import { actionText, asOfText, Mark, Severity, severityRank, silencedText, Time, whoOf } from "../parts/parts.tsx";
import { place, setQuery } from "../route.ts";
import { verdict } from "../rules/rule_table.tsx";
import type { CloudEvent, Incident, Issue, JobDetail, NsOrNull, Rule, WhatIf } from "../api/types.ts";

const shown = 3;
const leastShare = 0.02; // share of a step's time; smaller savings are noise

// Cost of issues that do not slow down steps, by rule category.
const free = "no time lost";
const otherCosts: Record<string, string> = { hang: "no steps complete", numerics: free, optimization: free };

function Cost({ job, rank, category }: { job: JobDetail; rank: string; category: string }) {
  const other = category !== "death" ? otherCosts[category] : rank ? `rank ${rank} was lost` : "the job ended";
  const can = !other && /^\d+$/.test(rank) && job.ranks > 1;
  const answer = useLoad<WhatIf | null>(`what-if ${job.id} ${rank} ${job.attempt_count}`, (abort) =>
    can ? get<WhatIf>("/what-if", { job: job.id, rank }, abort) : Promise.resolve(null),
  );
  const cost = answer.data;
  if (other) return <span data-field="cost">{other}</span>;
  if (!can) return <span data-field="cost">unknown (no single rank is responsible)</span>;
  if (answer.fault) return <span data-field="cost">unknown: {answer.fault.message}</span>;
  if (!cost) return <span data-field="cost">…</span>;
  if (!cost.computable) return <span data-field="cost">unknown: {cost.reason}</span>;
  // Smaller savings are within the noise.
  if ((cost.saved_share ?? 0) < leastShare)
    return (
      <span data-field="cost" data-share={cost.saved_share ?? ""}>
        no measurable slowdown
      </span>
    );
  return (
    <span data-field="cost" data-share={cost.saved_share ?? ""}>
      {percent(cost.saved_share)} of step time ({duration(cost.step_seconds)} per step, {duration(cost.without_seconds)}{" "}
      without rank {rank})
    </span>
  );
}

// An incident is over only if it was cleared. The end of the job ends its rules without resolving the problem.
const over = (incident: Incident) => !incident.open && incident.root.end_reason !== "job_ended";

function Badge({ incident }: { incident: Incident }) {
  return over(incident) ? (
    <span class="badge calm" title={`Severity: ${incident.severity}`}>
      <Mark of="✓" />
      Ended
    </span>
  ) : (
    <Severity name={incident.severity} />
  );
}

// Returns the end of the last step if the issue is about missing progress.
function lastStep(job: JobDetail, issue: Issue): NsOrNull {
  const attempt = job.attempts.find((one) => one.attempt === issue.attempt);
  const hung = issue.open && job.stalled_since_ns && ["hang", "progress"].includes(issue.labels.category ?? "");
  return hung && attempt && attempt.last_step_ns !== attempt.first_step_ns ? attempt.last_step_ns : null;
}
const near = (a: NsOrNull, b: NsOrNull) => Math.abs(secondsBetween(a, b) ?? 60) < 1;

// Onset and duration of an issue. `whole` adds the times of detection and of the last step.
const sinceLabel = (cleared: boolean, whole?: boolean) =>
  whole ? (cleared ? "From" : "Since") : cleared ? "from" : "since";
function Since({ job, issue, whole }: { job: JobDetail; issue: Issue; whole?: boolean }) {
  const length = duration(secondsBetween(issue.onset_ns, issue.ended_ns ?? job.ended_ns ?? job.last_ns));
  const cleared = !issue.open && issue.end_reason !== "job_ended";
  const step = whole ? lastStep(job, issue) : null;
  return (
    <>
      <i>{sinceLabel(cleared, whole)}</i> <Time ns={issue.onset_ns} field="since" />{" "}
      {cleared && (
        <>
          to <Time ns={issue.ended_ns} field="until" />{" "}
        </>
      )}
      ({step && near(step, issue.onset_ns) ? "last step, " : ""}
      {length}
      {issue.open ? " ago" : ""}
      {!issue.open && !cleared ? ", until the job ended" : ""})
      {step && !near(step, issue.onset_ns) && (
        <>
          , last step at <Time ns={step} field="step" short />
        </>
      )}
      {whole && !near(issue.onset_ns, issue.started_ns) && (
        <>
          , found <Time ns={issue.started_ns} field="found" short />
        </>
      )}
    </>
  );
}

const peersOf = (incident: Incident, subject: Issue) =>
  incident.issues.filter(
    (issue) =>
      issue.alert === subject.alert &&
      issue.id !== subject.id &&
      issue.labels.rank &&
      issue.labels.rank !== subject.labels.rank,
  );
const alone = (incident: Incident, subject: Issue) => !peersOf(incident, subject).length;

// Returns the ranks or locations that the alert affects: one location, all ranks simultaneously, or one rank first.
function whomOf(job: JobDetail, incident: Incident, subject: Issue): [label: string, text: string] {
  const rank = subject.labels.rank;
  const peers = peersOf(incident, subject);
  const others = [...new Set(peers.map((issue) => issue.labels.rank as string))].sort((a, b) => Number(a) - Number(b));
  if (!rank || !others.length) return ["Where", whoOf(subject.labels)];
  const named = `rank${others.length > 1 ? "s" : ""} ${others.slice(0, 8).join(", ")}${others.length > 8 ? ` and ${others.length - 8} more` : ""}`;
  const began = (issue: Issue) => BigInt(issue.started_ns ?? 0);
  if (peers.every((issue) => began(issue) > began(subject))) return ["Where", `rank ${rank} first, then ${named}`];
  const together = peers.every((issue) => began(issue) === began(subject));
  return together && others.length + 1 === job.ranks
    ? ["Ranks", `all (${job.ranks})`]
    : ["Where", `rank ${rank}, as well as ${named}`];
}

// Full description of an incident. `subject` is the linked issue, which may be a symptom of the root cause.
function Sentence({
  job,
  incident,
  subject,
  actions,
}: {
  job: JobDetail;
  incident: Incident;
  subject: Issue;
  actions: CloudEvent[] | null;
}) {
  const { root } = incident;
  const ids = new Set(incident.issues.map((issue) => issue.id));
  const taken = (actions ?? []).filter((action) => ids.has(action.data.issue ?? ""));
  const newest = taken[taken.length - 1];
  const own = subject.id === root.id;
  const others = incident.issues.filter((issue) => issue.id !== subject.id && issue.id !== root.id);
  const names = [...new Set(others.map((issue) => issue.alert))].filter(
    (alert) => alert !== root.alert && alert !== subject.alert,
  );
  const todo = subject.event.data.suggestion;
  const [label, who] = whomOf(job, incident, subject);
  return (
    <li data-incident={incident.id}>
      <Badge incident={incident} />
      <div>
        <p>
          <strong data-field="what">{subject.summary || subject.alert}</strong>
          {asOfText(job, subject)}{" "}
          <button type="button" class="link" onClick={() => setQuery({ issue: subject.id })}>
            Show evidence
          </button>
        </p>
        <div class="parts">
          <p class="fact">
            <i>{label}</i> <span data-field="who">{who}</span>
          </p>
          <p class="fact">
            <Since job={job} issue={subject} whole />
          </p>
          <p class="fact">
            <i>Action</i>{" "}
            <span data-field="action">
              {actions === null ? "…" : newest ? actionText(newest.type, newest.data) : "none"}
            </span>
            {subject.silenced && <span class="note">; {silencedText(subject)}</span>}
          </p>
          <p class="fact">
            <i>Cost</i>{" "}
            <Cost
              job={job}
              rank={alone(incident, subject) ? (subject.labels.rank ?? "") : ""}
              category={subject.labels.category ?? ""}
            />
          </p>
          <p class="fact why">
            <i>{own ? "Rule" : "Cause"}</i>{" "}
            <span data-field="cause">
              {own ? root.alert : `${root.summary || root.alert} (${root.alert})`}
              {incident.likely_roots > 1 && alone(incident, subject)
                ? `, one of ${incident.likely_roots} equally likely`
                : ""}
            </span>
            {names.length > 0 &&
              `, with ${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}`}
          </p>
        </div>
        {todo && (
          <p class="todo">
            <strong>What to do:</strong> <span data-field="suggestion">{todo}</span>
          </p>
        )}
      </div>
    </li>
  );
}

// One-line description of an incident other than the linked one.
function Brief({ job, incident: { root, ...incident }, also }: { job: JobDetail; incident: Incident; also: boolean }) {
  return (
    <li data-beside={incident.id}>
      <Badge incident={{ root, ...incident }} />
      <p class="brief">
        {also ? "Also: " : ""}
        {whoOf(root.labels)}: {root.summary || root.alert}
        {asOfText(job, root)}, <Since job={job} issue={root} />.{" "}
        <button type="button" class="link" onClick={() => setQuery({ issue: root.id })}>
          Show evidence
        </button>
      </p>
    </li>
  );
}

const isBlind = (rules: Rule[] | null) =>
  rules !== null && !rules.some((rule) => ["NoIssuesFound", "IssuesFound"].includes(verdict(rule)[0]));

// Message for a job without open issues. It states the number of rules with enough data.
function Calm({ incidents, rules }: { incidents: Incident[]; rules: Rule[] | null }) {
  const statuses = (rules ?? []).map((rule) => verdict(rule)[0]);
  const judged = statuses.filter((status) => status === "NoIssuesFound" || status === "IssuesFound").length;
  const blind = isBlind(rules);
  const ended = incidents.length
    ? `No open issues. ${plural(incidents.length, "incident")} ended.`
    : blind
      ? statuses.length
        ? "No rule has enough data yet."
        : "No rules ran on this job."
      : "No issues found so far.";
  return (
    <li>
      {blind ? (
        <span class="badge note">
          <Mark of="○" />
          No data
        </span>
      ) : (
        <span class="badge good">
          <Mark of="✓" />
          No open issues
        </span>
      )}
      <p>
        {ended}
        {!statuses.length
          ? ""
          : ` ${count(judged)} of ${plural(statuses.length, "rule")} evaluated${judged < statuses.length ? "; the table below lists what the others need" : ""}.`}
      </p>
    </li>
  );
}

export function Incidents({
  job,
  incidents,
  actions,
  rules,
}: {
  job: JobDetail;
  incidents: Incident[];
  actions: CloudEvent[] | null;
  rules: Rule[] | null;
}) {
  const wanted = place.value.query.get("issue") ?? "";
  const asked = incidents.find((incident) => incident.issues.some((issue) => issue.id === wanted));
  // Shows the worst incidents first, newest first within a severity.
  const open = incidents
    .filter((incident) => !over(incident) && incident !== asked)
    .sort((a, b) => severityRank(a.severity) - severityRank(b.severity));
  const calm = open.length === 0 && (!asked || over(asked));
  // A job without open incidents shows its newest ended ones.
  const rest = open.length ? open : asked ? [] : incidents;
  const listed = rest.slice(0, shown);
  return (
    <section
      class={`incident ${calm ? (isBlind(rules) ? "calm blind" : "calm") : (asked ?? listed[0])?.severity}`}
      aria-label={calm ? "Incidents" : "Open incidents"}
    >
      <ul>
        {asked && (
          <Sentence
            job={job}
            incident={asked}
            subject={asked.issues.find((issue) => issue.id === wanted) ?? asked.root}
            actions={actions}
          />
        )}
        {!asked && calm && <Calm incidents={incidents} rules={rules} />}
        {listed.map((incident) =>
          asked || calm ? (
            <Brief key={incident.id} job={job} incident={incident} also={!!asked} />
          ) : (
            <Sentence key={incident.id} job={job} incident={incident} subject={incident.root} actions={actions} />
          ),
        )}
      </ul>
      {open.length > listed.length && (
        <p class="dim">See the list of issues for {plural(open.length - listed.length, "more open incident")}.</p>
      )}
    </section>
  );
}
