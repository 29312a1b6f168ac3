// One job: what is wrong, since when, what it costs, what to do; then what the job is and how it uses its machines.
import { useEffect } from "preact/hooks";
import { get } from "./client.ts";
import { JobDetails, JobSummary } from "./details.tsx";
import { plural } from "./format.ts";
import { Incidents } from "./incidents.tsx";
import { Issues } from "./issues.tsx";
import { watch } from "./live.ts";
import { useLoad } from "./load.ts";
import { Failed, JobState, Waiting } from "./parts.tsx";
import { place, setQuery } from "./route.ts";
import { RuleTable } from "./rule_table.tsx";
import { Operations, ResourceTable } from "./tables.tsx";
import type { CloudEvent, Incident, Issue, JobDetail } from "./types.ts";

// Ranges end with the newest data of the job.
const ranges: [string, string, number][] = [["", "whole job", 0], ["6h", "last 6 h", 21_600], ["1h", "last hour", 3_600], ["15m", "last 15 min", 900]];

export function rangeOf(job: JobDetail, name: string): { from?: string; to?: string } {
  const length = ranges.find(([key]) => key === name)?.[2] ?? 0;
  if (!length || job.last_ns === null) return {};
  const to = BigInt(job.last_ns) + 1n;
  return { from: String(to - BigInt(length) * 1_000_000_000n), to: String(to) };
}

export function Overview({ id }: { id: string }) {
  const job = useLoad<JobDetail>(`job ${id}`, (abort) => get("/job", { job: id }, abort), ["job", "samples", "issue"], id);
  const whole = job.data?.id ?? id;
  const incidents = useLoad<{ incidents: Incident[] }>(`incidents ${id}`, (abort) => get("/incidents", { job: id }, abort), ["issue"], whole);
  const issues = useLoad<{ issues: Issue[]; total: number }>(`issues ${id}`, (abort) => get("/issues", { job: id, limit: 1000 }, abort), ["issue"], whole);
  const actions = useLoad<{ actions: CloudEvent[] }>(`actions ${id}`, (abort) => get("/actions", { job: id }, abort), ["action"], whole);
  useEffect(() => watch(whole), [whole]);
  const name = job.data ? job.data.name || job.data.id : id;
  useEffect(() => {
    document.title = `${name.slice(0, 80)} · Pitwall`;
  }, [name]);

  if (!job.data) {
    return <main>{job.fault ? <Failed fault={job.fault} again={job.again} what="This job" /> : <Waiting what="the job" />}</main>;
  }
  const range = ranges.some(([key]) => key === place.value.query.get("range")) ? (place.value.query.get("range") as string) : "";
  const { from, to } = rangeOf(job.data, range);
  return (
    <main>
      <div class="tools">
        <h1 class="cut" title={name.slice(0, 500)}>{name.slice(0, 300)}</h1>
        <JobState state={job.data.state} detail={job.data.end_detail} />
        <span class="dim">{plural(job.data.nodes, "node")}, {plural(job.data.ranks, "rank")}, {plural(job.data.attempt_count, "attempt")}</span>
        <span class="grow" />
        <fieldset class="choice">
          <legend class="sr">Range of the tables</legend>
          {ranges.map(([key, text]) => (
            <button key={key} type="button" aria-pressed={range === key} onClick={() => setQuery({ range: key })}>{text}</button>
          ))}
        </fieldset>
      </div>
      {job.fault && <Failed fault={job.fault} again={job.again} what="The newest state of this job" />}
      {incidents.fault ? (
        <Failed fault={incidents.fault} again={incidents.again} what="Incidents" />
      ) : incidents.data ? (
        <Incidents job={job.data} incidents={incidents.data.incidents} actions={actions.data?.actions ?? null} />
      ) : (
        <Waiting what="incidents" />
      )}
      <div class="columns">
        <div>
          {issues.fault ? <Failed fault={issues.fault} again={issues.again} what="Issues" /> : issues.data ? <Issues job={job.data} issues={issues.data.issues} total={issues.data.total} /> : <Waiting what="issues" />}
          <RuleTable job={whole} />
        </div>
        <div>
          <JobSummary job={job.data} />
          <JobDetails job={job.data} />
        </div>
      </div>
      <ResourceTable job={whole} from={from} to={to} />
      <Operations job={whole} from={from} to={to} />
    </main>
  );
}
