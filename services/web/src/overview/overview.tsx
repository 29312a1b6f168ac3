// Overview of a job: incidents with cost and suggestion, then rules, details, and resource usage.
import { JobDetails, JobSummary } from "./details.tsx";
import { Incidents } from "../issues/incidents.tsx";
import { Issues } from "../issues/issues.tsx";
import { useIssues, useJob, useRules } from "../api/load.ts";
import { Reading } from "../parts/parts.tsx";
import { rangeOf } from "../charts/range.ts";
import { Progress } from "./progress.tsx";
import { RuleTable } from "../rules/rule_table.tsx";
import { Operations, ResourceTable } from "./tables.tsx";
import type { TabProps } from "../parts/tab_props.ts";
import type { CloudEvent, Incident } from "../api/types.ts";

export function Overview({ job }: TabProps) {
  const id = job.id;
  const incidents = useJob<{ incidents: Incident[] }>("/incidents", id, ["issue"]);
  const issues = useIssues(id);
  const actions = useJob<{ actions: CloudEvent[] }>("/actions", id, ["action"]);
  const rules = useRules(id);
  const { from, to } = rangeOf(job);
  return (
    <>
      <Reading loaded={incidents} what="incidents" />
      {incidents.data && !incidents.fault && (
        <Incidents
          job={job}
          incidents={incidents.data.incidents}
          actions={actions.data?.actions ?? null}
          rules={rules.data?.rules ?? null}
        />
      )}
      <Progress job={job} issues={issues.data?.issues ?? []} />
      <Reading loaded={issues} what="issues" />
      {issues.data && !issues.fault && (
        <Issues job={job} issues={issues.data.issues} total={issues.data.total} rules={rules.data?.rules ?? []} />
      )}
      <RuleTable job={job} loaded={rules} />
      <div class="columns">
        <JobSummary job={job} />
        <JobDetails job={job} />
      </div>
      <ResourceTable job={id} from={from} to={to} />
      <Operations job={id} from={from} to={to} />
    </>
  );
}
