// The job's time by part, and its details.
import { duration, missing, percent, secondsBetween } from "../parts/format.ts";
import { Cut, Num, Panel, Time } from "../parts/parts.tsx";
import type { JobDetail, PartName } from "../api/types.ts";

export const partNames: Record<PartName, string> = {
  initialization: "Initialization",
  training_loop: "Training loop",
  finalization: "Finalization",
  between_attempts: "Between attempts",
};

export function JobSummary({ job }: { job: JobDetail }) {
  const { parts, attempts } = job.summary;
  const last = attempts[attempts.length - 1];
  return (
    <Panel
      title="Where the time went"
      id="summary-title"
      note={duration(secondsBetween(job.summary.begin_ns, job.summary.end_ns))}
    >
      <div class="stack" aria-hidden="true">
        {parts
          .filter((part) => part.share > 0)
          .map((part) => (
            <span
              key={part.part}
              class={part.part}
              style={{ flexGrow: part.share }}
              title={`${partNames[part.part]} ${percent(part.share)}`}
            >
              {part.share > 0.12 ? percent(part.share) : ""}
            </span>
          ))}
      </div>
      <table class="plain">
        <caption class="sr">Time by part of the job</caption>
        <tbody>
          {parts
            .filter((part) => part.part !== "between_attempts" || attempts.length > 1)
            .map((part) => (
              <tr key={part.part} data-part={part.part}>
                <th scope="row">
                  <i class={`swatch ${part.part}`} /> {partNames[part.part]}
                </th>
                <Num data-share={part.share}>{percent(part.share)}</Num>
                <Num>{duration(part.seconds)}</Num>
              </tr>
            ))}
        </tbody>
      </table>
      {attempts.length > 1 && last && (
        <ol class="tries">
          {attempts.map((attempt) => {
            const lost = job.attempts.find((one) => one.attempt === attempt.attempt);
            return (
              <li key={attempt.attempt}>
                <span class="strong">Attempt {attempt.attempt}</span> <Time ns={attempt.begin_ns} />{" "}
                <span class="number">{duration(secondsBetween(attempt.begin_ns, attempt.end_ns))}</span>{" "}
                <span class="dim">
                  {lost?.end_detail || (lost?.ended_ns === null ? "running" : "")}
                  {lost?.lost.length
                    ? `; lost ${lost.lost
                        .map(
                          (one) =>
                            `rank ${one.rank ?? "?"} on ${one.node || "?"}${one.oom_killed ? ", out of memory" : one.signal ? `, signal ${one.signal}` : one.exit_code !== null ? `, exit code ${one.exit_code}` : ""}`,
                        )
                        .slice(0, 4)
                        .join("; ")}`
                    : ""}
                </span>
              </li>
            );
          })}
        </ol>
      )}
    </Panel>
  );
}

export function JobDetails({ job }: { job: JobDetail }) {
  const { summary } = job;
  const part = (name: PartName) => summary.parts.find((one) => one.part === name);
  const first = summary.attempts.find((attempt) => attempt.loop_begin_ns !== null);
  const last = [...summary.attempts].reverse().find((attempt) => attempt.loop_end_ns !== null);
  const kept = job.raw_from_ns;
  const rows: [string, preact.ComponentChildren][] = [
    ["Start time", <Time key="s" ns={summary.begin_ns} />],
    ["End time", job.ended_ns === null ? "not ended" : <Time key="e" ns={summary.end_ns} />],
    ["Job duration", duration(secondsBetween(summary.begin_ns, summary.end_ns))],
    ["Training loop start", <Time key="l" ns={first?.loop_begin_ns ?? null} />],
    ["Training loop end", job.ended_ns === null ? "not ended" : <Time key="m" ns={last?.loop_end_ns ?? null} />],
    ["Training loop duration", duration(part("training_loop")?.seconds ?? null)],
    [
      "Initialization",
      `${duration(part("initialization")?.seconds ?? null)}, ${percent(part("initialization")?.share ?? null)}`,
    ],
    ["Training loop share", percent(part("training_loop")?.share ?? null)],
    [
      "Finalization",
      `${duration(part("finalization")?.seconds ?? null)}, ${percent(part("finalization")?.share ?? null)}`,
    ],
    ["ID", <Cut key="i" text={job.id} class="code" />],
    ["Owner", <Cut key="o" text={job.owner || missing} />],
    [
      "Workload",
      <span key="r" class="wrap">
        {[
          job.reference.platform,
          job.reference.cluster,
          job.reference.namespace,
          job.reference.name,
          job.reference.queue,
        ]
          .filter((text) => text)
          .join(" / ")
          .slice(0, 500) || missing}
      </span>,
    ],
    [
      "Raw samples",
      kept === null ? (
        "all kept"
      ) : (
        <span key="k">
          kept since <Time ns={kept} />
        </span>
      ),
    ],
  ];
  return (
    <Panel title="Details" id="details-title">
      <dl class="details">
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
