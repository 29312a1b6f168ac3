// Actions tab: executor actions, notifications, the sampling interval, and stack captures.
import { useState } from "preact/hooks";
import { Choice, Control } from "../parts/control.tsx";
import { duration, plural } from "../parts/format.ts";
import { useIssues, useJob } from "../api/load.ts";
import { actionText, Cut, eventTime, Head, Num, Panel, Reading, whoOf } from "../parts/parts.tsx";
import { place } from "../route.ts";
import type { TabProps } from "../parts/tab_props.ts";
import type { CloudEvent } from "../api/types.ts";

interface Captured {
  rank?: number;
  node?: string;
  state?: string;
  request?: string;
  principal?: string;
  phase?: string;
  threads?: { frames?: string[] }[];
}

const mostRows = 200;
const intervals = ["100ms", "200ms", "500ms", "1s", "5s", "1m"];

export function ActionsView({ job }: TabProps) {
  const issues = useIssues(job.id);
  const alerts = new Map(issues.data?.issues.map((issue) => [issue.id, `${issue.alert}: ${whoOf(issue.labels)}`]));
  const actions = useJob<{ actions: CloudEvent[]; notifications: CloudEvent[] }>("/actions", job.id, [
    "action",
    "notification",
  ]);
  const captures = useJob<{ captures: CloudEvent[] }>("/captures", job.id, ["capture"]);
  const taken = actions.data?.actions ?? [];
  const every = [
    ...new Set(
      job.sources.flatMap((source) =>
        source.rank === null && source.interval_seconds ? [source.interval_seconds] : [],
      ),
    ),
  ].sort((a, b) => a - b);
  const [interval, setInterval] = useState(
    intervals.find((one) => one === duration(every[0] ?? 0.5).replace(/\s/, "")) ?? "100ms",
  );
  const notifications = [...(actions.data?.notifications ?? [])].reverse();
  const answers = [...(captures.data?.captures ?? [])].reverse();
  return (
    <>
      <Panel title="Actions" id="actions-title" note={actions.data ? plural(taken.length, "record") : ""}>
        <Control
          job={job}
          path="/job/stop"
          reason
          button="Stop job"
          done="The result appears below. The executor's policies for request/stop apply."
        />
        {job.state === "ended" && <p class="dim pad">The job has ended. No actions are available.</p>}
        <Reading loaded={actions} what="actions" />
        {actions.data && taken.length === 0 && (
          <p class="dim pad">No actions yet. Policies decide when a job is stopped.</p>
        )}
        {taken.length > 0 && (
          <table class="wide">
            <Head of={["Time|w-start", "Action", "Rule", "Reason"]} />
            <tbody>
              {taken.map((event) => (
                <tr key={event.id}>
                  <td>{eventTime(event)}</td>
                  <td class="wrap">{actionText(event.type, event.data)}</td>
                  <td class="code wrap">{event.data.rule}</td>
                  <td class="wrap">{event.data.why}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Panel>
      <Panel
        title="Notifications"
        id="notifications-title"
        note={actions.data ? plural(notifications.length, "notification") : ""}
      >
        {actions.data && notifications.length === 0 && (
          <p class="dim pad">
            No notifications were sent for this job. The notifier's configuration lists the receivers: webhooks,
            Alertmanager, Slack, email, PagerDuty, and gateways.
          </p>
        )}
        {notifications.length > 0 && (
          <table class="wide">
            <Head of={["Time|w-start", "Receiver", "Event|w-time", "Issue", "Status"]} />
            <tbody>
              {notifications.slice(0, mostRows).map((event) => {
                const { data } = event;
                const [first = ""] = data.issues ?? [];
                return (
                  <tr key={event.id} data-notification={data.receiver}>
                    <td>{eventTime(event)}</td>
                    <td class="wrap">
                      {data.kind} <b>{data.receiver}</b>
                    </td>
                    <td>{data.what}</td>
                    <td>
                      <a href={`${place.value.path}?issue=${first}`}>
                        <Cut text={alerts.get(first) ?? first.slice(0, 12)} />
                      </a>
                      {(data.issues ?? []).length > 1 && (
                        <span class="dim small"> and {(data.issues ?? []).length - 1} more</span>
                      )}
                    </td>
                    <td class={data.error ? "wrap bad" : "wrap"}>
                      {data.error ? `✕ Failed: ${data.error}` : "✓ Delivered"}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
        {notifications.length > mostRows && (
          <p class="dim pad">
            Newest {mostRows} of {plural(notifications.length, "notification")}.
          </p>
        )}
      </Panel>
      {job.state === "running" && (
        <Panel
          title="Sampling"
          id="sampling-title"
          note={
            every.length
              ? `current interval: ${every.map(duration).join(", ")}`
              : "interval unknown: no collector has reported it"
          }
        >
          <Control
            job={job}
            path="/job/interval"
            reason
            button="Change interval"
            done="Collectors apply the new interval within seconds and keep it until they restart or their configuration changes."
            values={{ interval }}
          >
            <Choice
              label="Sampling interval (affects every job on these nodes)"
              values={intervals}
              value={interval}
              set={setInterval}
            />
          </Control>
        </Panel>
      )}
      <Panel title="Captures" id="captures-title" note="stacks of all ranks at one moment">
        <Control job={job} path="/job/capture" button="Capture stacks" done="The stacks appear below." />
        <Reading loaded={captures} what="captures" />
        {captures.data && answers.length === 0 && <p class="dim pad">No captures yet, or no rank has answered.</p>}
        {answers.length > 0 && (
          <table class="wide">
            <Head
              of={["Time|w-start", "Rank|w-count number", "Node", "State", "Phase", "Innermost frame", "Requested by"]}
            />
            <tbody>
              {answers.slice(0, mostRows).map((event) => {
                const one = event.data as Captured;
                return (
                  <tr key={event.id}>
                    <td>{eventTime(event)}</td>
                    <Num>{one.rank}</Num>
                    <td class="wrap">{one.node}</td>
                    <td>{one.state}</td>
                    <td class="wrap">{one.phase}</td>
                    <td class="code wrap">{one.threads?.[0]?.frames?.[0]}</td>
                    <td class="wrap">{one.principal}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
        {answers.length > mostRows && (
          <p class="dim pad">
            Newest {mostRows} of {plural(answers.length, "capture")}.
          </p>
        )}
      </Panel>
    </>
  );
}
