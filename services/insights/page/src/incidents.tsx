// Each open incident in one sentence: who, what, since when, cost, cause, action taken.
import { get } from "./client.ts";
import { duration, percent, plural, secondsBetween } from "./format.ts";
import { useLoad } from "./load.ts";
import { actionText, Severity, Time, whoOf } from "./parts.tsx";
import { setQuery } from "./route.ts";
import type { CloudEvent, Incident, JobDetail, WhatIf } from "./types.ts";

const shown = 3;

function Cost({ job, rank }: { job: JobDetail; rank: string }) {
  const can = /^\d+$/.test(rank) && job.ranks > 1;
  const answer = useLoad<WhatIf | null>(`what-if ${job.id} ${rank} ${job.attempt_count}`, (abort) => (can ? get<WhatIf>("/what-if", { job: job.id, rank }, abort) : Promise.resolve(null)));
  const cost = answer.data;
  if (!can) return <span data-field="cost">cost not computable: no single rank is named</span>;
  if (answer.fault) return <span data-field="cost">cost not known: {answer.fault.message}</span>;
  if (!cost) return <span data-field="cost">cost …</span>;
  if (!cost.computable) return <span data-field="cost">cost not computable: {cost.reason}</span>;
  return (
    <span data-field="cost" data-share={cost.saved_share ?? ""}>
      costs {percent(cost.saved_share)} of the time: a step takes {duration(cost.step_seconds)} instead of {duration(cost.without_seconds)} without rank {rank}
    </span>
  );
}

function Sentence({ job, incident, actions }: { job: JobDetail; incident: Incident; actions: CloudEvent[] | null }) {
  const { root } = incident;
  const ids = new Set(incident.issues.map((issue) => issue.id));
  const taken = (actions ?? []).filter((action) => ids.has(action.data.issue ?? ""));
  const newest = taken[taken.length - 1];
  const others = incident.issues.length - 1;
  const length = secondsBetween(incident.started_ns, incident.ended_ns ?? job.ended_ns ?? job.last_ns);
  return (
    <li data-incident={incident.id}>
      <Severity name={incident.severity} />
      <p>
        <strong class="who" data-field="who">{whoOf(root.labels)}</strong>: <strong data-field="what">{root.summary || root.alert}</strong>,{" "}
        since <Time ns={root.started_ns} field="since" /> ({duration(length)}); <Cost job={job} rank={root.labels.rank ?? ""} />;{" "}
        cause: <span data-field="cause">{root.alert}{incident.likely_roots > 1 ? `, one of ${incident.likely_roots} equally likely` : ""}</span>
        {others > 0 ? `, with ${plural(others, "issue")} that it explains or that came with it` : ""};{" "}
        action: <span data-field="action">{actions === null ? "…" : newest ? actionText(newest.type, newest.data) : "none taken"}</span>.{" "}
        <button type="button" class="link" onClick={() => setQuery({ issue: root.id })}>Show what was found</button>
      </p>
    </li>
  );
}

export function Incidents({ job, incidents, actions }: { job: JobDetail; incidents: Incident[]; actions: CloudEvent[] | null }) {
  const open = incidents.filter((incident) => incident.open);
  if (open.length === 0) {
    return (
      <section class="incident calm" aria-label="Incidents">
        <ul><li><span class="badge good"><span aria-hidden="true">✓</span> nothing open</span>
          <p>{incidents.length ? `No issue is open. ${plural(incidents.length, "incident")} ended, listed below.` : "No rule found anything in this job so far. Rules that cannot judge are listed below."}</p></li></ul>
      </section>
    );
  }
  return (
    <section class="incident" aria-label="Open incidents">
      <ul>{open.slice(0, shown).map((incident) => <Sentence key={incident.id} job={job} incident={incident} actions={actions} />)}</ul>
      {open.length > shown && <p class="dim">{plural(open.length - shown, "more open incident")}, in the list of issues.</p>}
    </section>
  );
}
