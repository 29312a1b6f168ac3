// Charts of scalars (loss, learning rate, gradient norm, and all others) by step or time, compared with the last run
// that has the same name.
import { columns, exactColumns, folded, lineOf, rateOf, type Series } from "../charts/columns.ts";
import { Plot } from "../charts/plot.tsx";
import { bounds, chartKey, rangeOf, shownRange, zoomTo } from "../charts/range.ts";
import type { Line } from "../charts/time_chart.tsx";
import { digits, msOf, sentence } from "../parts/format.ts";
import { useLoad } from "../api/load.ts";
import { Reading } from "../parts/parts.tsx";
import type { Job, JobDetail, SeriesList } from "../api/types.ts";
import { zoomToSteps } from "../nodes/ranks_steps.tsx";

// Series that other parts of the page show, and series about the client itself.
const elsewhere =
  /^train_(step|world_size|step_duration_seconds|(phase|collective|tensor|operator|loader|load|input|label|confusion|score|residual|expert|feature|exposed|communication|computation)_.*)$/;
const first = ["train_loss", "train_metric", "train_learning_rate", "train_grad_norm", "train_accuracy"];
const mostLines = 12;

export interface Scalar {
  name: string;
  counter: boolean;
  modes: string[];
}

export function scalarsOf(list: SeriesList): Scalar[] {
  const found = new Map<string, Scalar>();
  for (const { labels, kind, has_steps } of list.series) {
    const name = labels.__name__ ?? "";
    if (elsewhere.test(name) || !has_steps) continue;
    const scalar = found.get(name) ?? { name, counter: kind === "counter", modes: [] };
    const mode = labels.mode ?? "train";
    if (!scalar.modes.includes(mode)) scalar.modes.push(mode);
    found.set(name, scalar);
  }
  const place = (name: string) => (first.indexOf(name) + first.length + 1) % (first.length + 1);
  return [...found.values()].sort(
    (a, b) =>
      (first.includes(a.name) ? place(a.name) : 99) - (first.includes(b.name) ? place(b.name) : 99) ||
      a.name.localeCompare(b.name),
  );
}

export const firstRank = (job: JobDetail) =>
  Math.min(...job.sources.flatMap((source) => (source.rank === null ? [] : [source.rank])));

// Name of a line, which consists of the mode and all labels except rank and node.
function nameOf(series: Series): string {
  const rest = Object.entries(series.labels).filter(
    ([label, value]) => !["__name__", "rank", "node", "mode"].includes(label) && value,
  );
  return [series.labels.mode ?? "train", ...rest.map(([, value]) => value)].join(" ").slice(0, 200);
}

interface Answer {
  series: Series[];
  from?: number;
  to?: number;
}

// Each mode counts its steps separately.
async function read(
  job: string,
  scalar: Scalar,
  steps: boolean,
  range: object,
  ranks: string,
  abort: AbortSignal,
): Promise<Answer> {
  const modes = steps ? scalar.modes : [""];
  const all = await Promise.all(
    modes.map((mode) =>
      (scalar.counter ? exactColumns : columns)(
        { job, match: `${scalar.name}{${ranks}}`, width: 500, ...range, ...(steps ? { axis: "step", mode } : {}) },
        abort,
      ),
    ),
  );
  const steps_of = all.flatMap((one) => (one.series.length ? [one] : []));
  return {
    series: all.flatMap((one) => one.series),
    from: Math.min(...steps_of.map((one) => one.from_step ?? 0)),
    to: Math.max(...steps_of.map((one) => one.to_step ?? 0)),
  };
}

function linesOf(series: Series[], scalar: Scalar, steps: boolean): Line[] {
  const groups = new Map<string, Series[]>();
  for (const one of series) groups.set(nameOf(one), [...(groups.get(nameOf(one)) ?? []), one]);
  // Lines for the mode "train" come first.
  const inOrder = [...groups].sort(
    ([a], [b]) => Number(b.startsWith("train")) - Number(a.startsWith("train")) || a.localeCompare(b),
  );
  return inOrder.map(([name, of]) =>
    folded(
      of.length > 1 ? `${name}, mean of ${of.length} ranks` : name,
      of.map((one) => (scalar.counter ? rateOf(name, one, steps ? 1 : 1000) : lineOf(name, one))),
    ),
  );
}

export function ScalarChart({
  job,
  scalar,
  steps,
  last,
}: {
  job: JobDetail;
  scalar: Scalar;
  steps: boolean;
  last: Job | null;
}) {
  const range = rangeOf(job);
  // Samples from two ranks have no times in common, so the time axis shows a single rank.
  const rank = firstRank(job);
  const ranks = steps && job.ranks <= 64 ? "" : `rank=~"|${Number.isFinite(rank) ? rank : 0}"`;
  const name = `${scalar.name} ${job.id} ${steps} ${ranks}`;
  const loaded = useLoad<Answer>(
    `${name} ${chartKey()}`,
    (abort) => read(job.id, scalar, steps, range, ranks, abort),
    ["samples"],
    job.id,
    name,
  );
  const ghost = useLoad<Answer | null>(`ghost ${name} ${last?.id}`, (abort) =>
    last ? read(last.id, scalar, steps, {}, ranks, abort) : Promise.resolve(null),
  );
  const words = scalar.name.replace(/^train_/, "").replaceAll("_", " ");
  const title = sentence(words);
  if (loaded.fault || !loaded.data)
    return (
      <div class="plot">
        <h3>{title}</h3>
        <Reading loaded={loaded} what={words} />
      </div>
    );
  const lines = linesOf(loaded.data.series, scalar, steps);
  const shown = lines.slice(0, mostLines);
  // Shifts the last run to align with the start of this one.
  const shift =
    !steps && last ? msOf(job.started_ns ?? job.first_ns ?? "0") - msOf(last.started_ns ?? last.first_ns ?? "0") : 0;
  const ghosts = ghost.data ? linesOf(ghost.data.series, scalar, steps).slice(0, Math.min(2, shown.length)) : [];
  for (const [color, line] of ghosts.entries())
    shown.push({
      ...line,
      name: `last run, ${line.name}`,
      times: line.times.map((at) => at + shift),
      ghost: true,
      color,
    });
  const [begin, end] = steps
    ? [loaded.data.from ?? 0, Math.max((loaded.data.to ?? 1) - 1, (loaded.data.from ?? 0) + 1)]
    : bounds(shownRange(job));
  const note = [
    scalar.counter ? (steps ? "increase per step" : "increase per second") : "",
    lines.length > mostLines ? `first ${mostLines} of ${lines.length} lines` : "",
    ranks && job.ranks > 1 ? `rank ${rank}` : "",
  ]
    .filter((text) => text)
    .join(", ");
  return (
    <Plot
      title={title}
      note={note}
      lines={lines.length ? shown : []}
      from={Number.isFinite(begin) ? begin : 0}
      to={Number.isFinite(end) ? end : 1}
      steps={steps}
      format={digits}
      empty="No values in this range."
      zoom={steps ? (a, b) => void zoomToSteps(job.id, a, b) : zoomTo}
    />
  );
}
