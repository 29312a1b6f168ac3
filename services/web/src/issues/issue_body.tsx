// Body of an issue: evidence, suggestion, criterion, and actions.
import { EvidenceChart } from "./evidence_chart.tsx";
import { plural, shownNumber } from "../parts/format.ts";
import { useJob } from "../api/load.ts";
import { actionText, eventTime, evidenceName, Num, Reading, notificationText } from "../parts/parts.tsx";
import { SetParameter } from "../rules/set_parameter.tsx";
import type { CloudEvent, IssueDetail, JobDetail, RuleDefinition } from "../api/types.ts";

const eventsShown = 12;
const notificationsShown = 20;

function stateText(event: CloudEvent): string {
  const name = event.type.split(".").pop() ?? event.type;
  return `${name}${event.data.value === undefined ? "" : `, value ${shownNumber(event.data.value)}`}`;
}

function Done({ issue }: { issue: IssueDetail }) {
  const { events } = issue;
  const cut =
    events.length > eventsShown ? [...events.slice(0, 2), ...events.slice(events.length - eventsShown + 2)] : events;
  const rows = [
    ...cut.map((event) => ({ event, text: stateText(event), act: false })),
    ...issue.actions.map((event) => ({
      event,
      text: `${actionText(event.type, event.data)}${event.data.why ? ` (${event.data.why})` : ""}`,
      act: true,
    })),
    ...issue.notifications
      .slice(0, notificationsShown)
      .map((event) => ({ event, text: notificationText(event), act: !!event.data.error })),
  ].sort((a, b) =>
    a.event.time < b.event.time ? -1 : a.event.time > b.event.time ? 1 : Number(a.act) - Number(b.act),
  );
  return (
    <>
      <ol class="done">
        {rows.map(({ event, text, act }) => (
          <li key={event.id}>
            <span class="number dim">{eventTime(event)}</span> <span class={act ? "wrap strong" : "wrap"}>{text}</span>
          </li>
        ))}
      </ol>
      {cut.length < events.length && (
        <p class="dim small">{plural(events.length - cut.length, "update")} in between not shown.</p>
      )}
      {issue.notifications.length > notificationsShown && (
        <p class="dim small">
          First {notificationsShown} of {issue.notifications.length} notifications.
        </p>
      )}
      <p class="dim">
        {issue.actions.length === 0 ? "No action was taken. " : ""}
        {issue.notifications.length === 0 ? "No notifications were sent." : ""}
      </p>
    </>
  );
}

// `above` is true if the incident above already shows the suggestion.
export function IssueBody({
  job,
  id,
  above,
  rule,
}: {
  job: JobDetail;
  id: string;
  above: boolean;
  rule: RuleDefinition | null;
}) {
  const loaded = useJob<IssueDetail>("/issue", job.id, ["issue", "action", "notification"], { id });
  if (!loaded.data)
    return (
      <div class="body">
        <Reading loaded={loaded} what="this issue" />
      </div>
    );
  // An issue's last event may have no evidence, so use the latest event that has some.
  const { events, event } = loaded.data;
  const data = { ...[...events].reverse().find((one) => one.data.evidence)?.data, ...event.data };
  const issue = { ...loaded.data, event: { ...event, data } };
  const parameters = Object.entries(data.parameters ?? {});
  return (
    <div class="body">
      {data.suggestion && !above && (
        <p class="suggestion wrap">
          <strong>What to do:</strong> {data.suggestion}
        </p>
      )}
      <EvidenceChart job={job} issue={issue} rule={rule} />
      <div class="facts">
        <section>
          <h3>Finding</h3>
          <p class="wrap">{issue.summary || issue.alert}</p>
          {data.description && (
            <p class="wrap dim" data-field="description">
              {data.description}
            </p>
          )}
          {(data.evidence ?? []).length > 0 && (
            <table class="plain">
              <caption class="sr">Evidence</caption>
              <tbody>
                {(data.evidence ?? []).map((one) => (
                  <tr key={evidenceName(one)}>
                    <th scope="row" class="code wrap">
                      {evidenceName(one)}
                    </th>
                    <Num>{shownNumber(one.value)}</Num>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </section>
        <section>
          <h3>Criterion</h3>
          <p class="code wrap">{issue.rule}</p>
          <table class="plain">
            <caption class="sr">Value, threshold, and parameters as evaluated</caption>
            <tbody>
              <tr>
                <th scope="row">Value</th>
                <Num>{shownNumber(data.value)}</Num>
              </tr>
              <tr>
                <th scope="row">Threshold</th>
                <Num data-field="threshold">
                  {data.threshold === undefined ? "no single value" : shownNumber(data.threshold)}
                </Num>
              </tr>
              {issue.step !== null && (
                <tr>
                  <th scope="row">Step</th>
                  <Num>{issue.step}</Num>
                </tr>
              )}
              {parameters.map(([name, value]) => (
                <tr key={name}>
                  <th scope="row" class="code">
                    ${name}
                  </th>
                  <Num>{shownNumber(value)}</Num>
                </tr>
              ))}
            </tbody>
          </table>
          <SetParameter job={job} rule={issue.rule} made={rule} actions={[]} />
        </section>
        <section>
          <h3>Activity</h3>
          <Done issue={issue} />
        </section>
      </div>
    </div>
  );
}
