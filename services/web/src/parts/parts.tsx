// Components and texts that all views share.
import type { ComponentChildren, JSX } from "preact";
import type { Fault } from "../api/client.ts";
import type { Loaded } from "../api/load.ts";
import { clock, duration, exactTime, msOf, plural, secondsBetween, sentence, time } from "./format.ts";
import type { CloudEvent, EventData, Issue, Job, JobDetail, Labels, NsOrNull } from "../api/types.ts";

// The shape and the word convey the state. The color is redundant.
const severities: Record<string, { mark: string; tone: string }> = {
  critical: { mark: "▲", tone: "bad" },
  error: { mark: "▲", tone: "bad" },
  warning: { mark: "◆", tone: "warn" },
  info: { mark: "●", tone: "note" },
};

// Decorative mark. The word next to it has the same meaning.
export function Mark({ of }: { of: string }) {
  return <span aria-hidden="true">{of} </span>;
}

export function Severity({ name }: { name: string }) {
  const { mark, tone } = severities[name] ?? { mark: "○", tone: "calm" };
  return (
    <span class={`badge ${tone}`}>
      <Mark of={mark} />
      {sentence(name || "no severity")}
    </span>
  );
}

export function severityRank(name: string): number {
  return { critical: 0, error: 1, warning: 2, info: 3 }[name] ?? 4;
}

// State of a job. A running job takes the tone of its serious open issues. `row` is true in a list, where other columns
// show the issues.
export function JobState({ job, row }: { job: Job; row?: boolean }) {
  const running = job.state === "running";
  const detail = (!row && job.end_text) || job.end_detail;
  const failed = detail !== "completed" && detail !== "";
  const trouble = running && severityRank(job.worst_severity) < 3 ? severities[job.worst_severity] : undefined;
  const { mark, tone } =
    trouble ??
    (running ? { mark: "▶", tone: "good" } : failed ? { mark: "✕", tone: "bad" } : { mark: "■", tone: "calm" });
  const but = !trouble
    ? ""
    : job.stalled_since_ns
      ? `no step for ${duration(secondsBetween(job.stalled_since_ns, job.last_ns))}`
      : row
        ? ""
        : plural(job.open_issues, "open issue");
  return (
    <span class={`state ${tone}`}>
      <Mark of={mark} />
      {running ? "Running" : sentence(detail || "ended")}
      {but && (row ? <small>{but}</small> : `, ${but}`)}
    </span>
  );
}

// If `short` is true, shows only the time of day, for use next to a time with a date.
export function Time({ ns, field, short }: { ns: NsOrNull; field?: string; short?: boolean }) {
  return (
    <time dateTime={exactTime(ns)} title={exactTime(ns)} data-field={field} data-ns={ns ?? ""} class="number">
      {short && ns ? clock(msOf(ns)) : time(ns)}
    </time>
  );
}

// Returns the time of the numbers in an open issue's summary, such as " (as of 03:04:05)", if the last event is over 5
// s old.
export function asOfText(job: JobDetail, { open, summary, event }: Issue): string {
  const old = open && msOf(job.last_ns ?? "0") - Date.parse(event.time) > 5000;
  return old && /\d/.test(summary.replace(/\b(rank|node|gpu) \S+/gi, "")) ? ` (as of ${event.time.slice(11, 19)})` : "";
}

// Text truncated to its cell, with up to 500 characters in the title.
export function Cut({ text, class: extra }: { text: string; class?: string }) {
  return (
    <span class={`cut ${extra ?? ""}`} title={text.length > 500 ? `${text.slice(0, 500)}…` : text}>
      {text.length > 500 ? `${text.slice(0, 500)}…` : text}
    </span>
  );
}

export function Failed({ fault, again, what }: { fault: Fault; again: () => void; what: string }) {
  return (
    <div class="fault" role="alert">
      <strong>Could not load {what}.</strong> <span class="wrap">{fault.message}</span>{" "}
      <button type="button" onClick={again}>
        Retry
      </button>
    </div>
  );
}

export function Waiting({ what }: { what: string }) {
  return (
    <p class="dim waiting" role="status">
      Loading {what}…
    </p>
  );
}

// Error or loading message, shown in place of missing data.
export function Reading({ loaded, what }: { loaded: Loaded<unknown>; what: string }) {
  return loaded.fault ? (
    <Failed fault={loaded.fault} again={loaded.again} what={what} />
  ) : loaded.data ? null : (
    <Waiting what={what} />
  );
}

export function Panel({
  title,
  note,
  id,
  children,
}: {
  title: string;
  note?: ComponentChildren;
  id: string;
  children: ComponentChildren;
}) {
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {note && <span class="dim">{note}</span>}
      </header>
      {children}
    </section>
  );
}

// Table header. Each entry is the name of a column, optionally followed by "|CLASS".
export function Head({ of }: { of: string[] }) {
  return (
    <thead>
      <tr>
        {of.map((text) => {
          const at = text.lastIndexOf("|");
          return (
            <th key={text} scope="col" class={at < 0 ? "" : text.slice(at + 1)}>
              {at < 0 ? text : text.slice(0, at)}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

export function Num(props: JSX.IntrinsicElements["td"] & { [data: `data-${string}`]: unknown }) {
  return <td {...props} class="number" />;
}

// Scrollable region that can be reached by keyboard.
export function Scroll({
  label,
  class: look = "scroll",
  children,
}: {
  label: string;
  class?: string;
  children: ComponentChildren;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard scrolling requires the focus.
    <section class={look} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

// Returns the author, end, and comment of the silence that covers the issue.
export function silencedText({ silenced }: Issue): string {
  return silenced
    ? `⊘ Silenced by ${silenced.by} until ${time(silenced.until_ns)}${silenced.comment && `: ${silenced.comment}`}`
    : "";
}

// Returns the location of an issue, from the labels that identify one.
const placeLabels = ["rank", "node", "gpu", "hw_id", "stage", "phase", "tensor", "collection", "worker"];
export function whoOf(labels: Labels): string {
  const words = placeLabels.filter((name) => labels[name]).map((name) => `${name} ${labels[name]}`);
  return words.length ? words.join(", ") : "the whole job";
}

export function evidenceName(evidence: { name?: string; labels?: Labels }): string {
  const labels = Object.entries(evidence.labels ?? {}).filter(([name]) => name !== "__name__");
  const text = labels.map(([name, value]) => `${name}="${value}"`).join(", ");
  return `${evidence.name ?? "value"}${text ? ` {${text}}` : ""}`;
}

// Returns the receiver and outcome of a notification.
export function notificationText({ data }: CloudEvent): string {
  return data.error
    ? `✕ could not notify ${data.kind} ${data.receiver} (${data.what}): ${data.error}`
    : `notified ${data.kind} ${data.receiver} (${data.what})`;
}

export const eventTime = (event: CloudEvent): string => event.time.slice(0, 19).replace("T", " ");

export function actionText(type: string, data: EventData): string {
  const step = type.split(".").pop() ?? type;
  const mode = data.mode === "dry_run" ? " (dry run, not executed)" : "";
  return `${data.action ?? "action"} ${step}${data.principal ? ` by ${data.principal}` : ""}${mode}${data.interval ? `: every ${data.interval}` : ""}${data.parameter ? `: ${data.parameter.name} ${data.parameter.before ?? ""} → ${data.parameter.value ?? "configured value"}` : ""}${data.effect ? `: ${data.effect}` : ""}`;
}
