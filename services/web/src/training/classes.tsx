// Charts for classifiers and XGBoost: feature importance, confusion matrix, and correct predictions by class over
// steps.
import { useState } from "preact/hooks";
import { columns, exactColumns, push, type Series } from "../charts/columns.ts";
import { Plot } from "../charts/plot.tsx";
import { chartKey, rangeOf } from "../charts/range.ts";
import type { Line } from "../charts/time_chart.tsx";
import { count, digits, percent, plural, sentence } from "../parts/format.ts";
import { useLoad } from "../api/load.ts";
import { Cut, Failed, Head, Num, Panel, Reading, Scroll } from "../parts/parts.tsx";
import { zoomToSteps } from "../nodes/ranks_steps.tsx";
import type { JobDetail, SeriesList } from "../api/types.ts";

const mostFeatures = 20;
const mostClasses = 12; // number of curves
const last = (series: Series) =>
  Array.from(series.last)
    .reverse()
    .find((value) => !Number.isNaN(value));
// Returns the series with a value at the latest step. Bins from an earlier attempt may have had different edges.
function current(all: Series[]): Series[] {
  const ends = all.map((one) => one.at.reduce((end, step, i) => (Number.isNaN(one.last[i]) ? end : step), -1));
  const newest = Math.max(...ends);
  return all.filter((_, i) => ends[i] === newest);
}
const has = (list: SeriesList, name: string) => list.series.some((one) => one.labels.__name__ === name);
const numeric = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true });

function useSteps(job: JobDetail, list: SeriesList, name: string, width: number) {
  const modes = list.series.filter((one) => one.labels.__name__ === name).map((one) => one.labels.mode ?? "train");
  const mode = modes.includes("eval") ? "eval" : (modes[0] ?? "train"); // held-out data is more informative
  const range = rangeOf(job);
  const key = `${name} ${job.id} ${mode}`;
  const loaded = useLoad(
    `${key} ${chartKey()}`,
    (abort) =>
      modes.length
        ? (name.endsWith("_total") ? exactColumns : columns)(
            { job: job.id, match: name, axis: "step", mode, width, ...range },
            abort,
          )
        : Promise.resolve(null),
    ["samples"],
    job.id,
    key,
  );
  return { ...loaded, mode };
}

function Importance({ job, list }: { job: JobDetail; list: SeriesList }) {
  const loaded = useSteps(job, list, "train_feature_importance_ratio", 3);
  const [wanted, setKind] = useState("gain");
  const series = loaded.data?.series ?? [];
  const kinds = [...new Set(series.map((one) => one.labels.type ?? ""))].sort();
  const kind = kinds.includes(wanted) ? wanted : kinds[0];
  const rows = series
    .filter((one) => one.labels.type === kind)
    .map((one) => ({ name: one.labels.feature ?? "", share: last(one) ?? 0 }))
    .sort((a, b) => b.share - a.share);
  const most = rows[0]?.share || 1;
  return (
    <div>
      <header class="tools">
        <h3>Feature importance</h3>
        <fieldset class="choice">
          <legend class="sr">Importance type</legend>
          {kinds.map((one) => (
            <button key={one} type="button" aria-pressed={one === kind} onClick={() => setKind(one)}>
              {one.replaceAll("_", " ")}
            </button>
          ))}
        </fieldset>
      </header>
      <Reading loaded={loaded} what="feature importance" />
      <table class="plain" aria-label="Feature importance">
        <tbody>
          {rows.slice(0, mostFeatures).map((row) => (
            <tr key={row.name} data-feature={row.name}>
              <th scope="row">
                <Cut text={row.name} class="code name" />
              </th>
              <td class="w-bar">
                <span class="bar-cell">
                  <span class="bar" aria-hidden="true">
                    <span style={{ width: `${(row.share / most) * 100}%` }} />
                  </span>
                  <span class="number">{percent(row.share)}</span>
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > mostFeatures && (
        <p class="dim small">
          First {mostFeatures} of {count(rows.length)} features.
        </p>
      )}
    </div>
  );
}

function Confusion({ job, list }: { job: JobDetail; list: SeriesList }) {
  const loaded = useSteps(job, list, "train_confusion_samples", 500);
  const pairs = new Map<string, number>();
  for (const one of loaded.data?.series ?? []) {
    const key = `${one.labels.label} ${one.labels.prediction}`;
    pairs.set(key, (pairs.get(key) ?? 0) + (last(one) ?? 0)); // summed over ranks
  }
  const classes = [...new Set([...pairs.keys()].flatMap((key) => key.split(" ")))].sort(numeric);
  const at = (label: string, prediction: string) => pairs.get(`${label} ${prediction}`) ?? 0;
  const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);
  const rows = classes.map((name) => {
    const [right, labels, predictions] = [
      at(name, name),
      sum(classes.map((one) => at(name, one))),
      sum(classes.map((one) => at(one, name))),
    ];
    const [precision, recall] = [predictions ? right / predictions : null, labels ? right / labels : null];
    return {
      name,
      right,
      labels,
      precision,
      recall,
      f1: labels + predictions ? (2 * right) / (labels + predictions) : null,
    };
  });
  const all = sum(rows.map((row) => row.labels));
  const mean = (column: "precision" | "recall" | "f1", weighted: boolean) => {
    const known = rows.filter((row) => row[column] !== null);
    const weight = (row: (typeof rows)[number]) => (weighted ? row.labels : 1);
    const total = sum(known.map(weight));
    return total ? sum(known.map((row) => (row[column] as number) * weight(row))) / total : null;
  };
  return (
    <div>
      <header class="tools">
        <h3>Confusion matrix, {loaded.mode}, latest step</h3>
      </header>
      <Reading loaded={loaded} what="the confusion matrix" />
      {classes.length > 0 && (
        <Scroll label="Confusion matrix">
          <table class="plain confusion">
            <Head
              of={[
                "Label \\ prediction",
                ...classes.map((one) => `${one.slice(0, 30)}|number`),
                "Precision|number",
                "Recall|number",
                "F1|number",
              ]}
            />
            <tbody>
              {rows.map((row) => (
                <tr key={row.name} data-class={row.name}>
                  <th scope="row">{row.name.slice(0, 30)}</th>
                  {classes.map((one) => (
                    <td
                      key={one}
                      class="number"
                      style={{
                        background: `color-mix(in srgb, var(--line-1) ${row.labels ? Math.round((at(row.name, one) / row.labels) * 35) : 0}%, transparent)`,
                      }}
                    >
                      {count(at(row.name, one))}
                    </td>
                  ))}
                  <Num>{digits(row.precision)}</Num>
                  <Num>{digits(row.recall)}</Num>
                  <Num>{digits(row.f1)}</Num>
                </tr>
              ))}
              {(
                [
                  ["macro", false],
                  ["weighted", true],
                ] as const
              ).map(([name, weighted]) => (
                <tr key={name} data-mean={name}>
                  <th scope="row" colSpan={classes.length + 1}>
                    {sentence(name)} average
                  </th>
                  {(["precision", "recall", "f1"] as const).map((column) => (
                    <Num key={column}>{digits(mean(column, weighted))}</Num>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {all > 0 && (
        <p class="small">
          Accuracy{" "}
          <b class="number" data-accuracy={sum(rows.map((row) => row.right)) / all}>
            {percent(sum(rows.map((row) => row.right)) / all)}
          </b>{" "}
          ({plural(all, "sample")})
        </p>
      )}
    </div>
  );
}

// Returns the share of correct predictions by class, among the samples counted since the previous step.
export function curves(samples: Series[], wrong: Series[]): Line[] {
  const of = (series: Series[]) => {
    const out = new Map<string, Map<number, number>>();
    for (const one of series) {
      const name = one.labels.class ?? "";
      const steps = out.get(name) ?? new Map<number, number>();
      one.at.forEach((step, i) => {
        const value = one.last[i] as number;
        if (!Number.isNaN(value)) steps.set(step, (steps.get(step) ?? 0) + value);
      });
      out.set(name, steps);
    }
    return out;
  };
  const missed = of(wrong);
  return [...of(samples)]
    .sort(([a], [b]) => numeric(a, b))
    .slice(0, mostClasses)
    .map(([name, steps]) => {
      const line: Line = { name: `class ${name.slice(0, 60)}`, times: [], min: [], max: [], last: [] };
      let [seen, bad] = [0, 0];
      for (const [step, total] of [...steps].sort(([a], [b]) => a - b)) {
        const wrongs = missed.get(name)?.get(step);
        if (wrongs === undefined || total <= seen) continue;
        const right = 1 - (wrongs - bad) / (total - seen);
        push(line, step, right, right, right);
        [seen, bad] = [total, wrongs];
      }
      return line;
    });
}

function Curves({ job, list }: { job: JobDetail; list: SeriesList }) {
  const samples = useSteps(job, list, "train_label_samples_total", 500);
  const wrong = useSteps(job, list, "train_label_mispredictions_total", 500);
  const lines = curves(samples.data?.series ?? [], wrong.data?.series ?? []).filter((line) => line.times.length > 0);
  const steps = lines.flatMap((line) => line.times);
  const fault = samples.fault ?? wrong.fault;
  if (fault) return <Failed fault={fault} again={samples.again} what="correct predictions by class" />;
  return (
    <Plot
      title="Correct predictions by class"
      note={samples.mode}
      lines={lines}
      steps
      ratio
      format={percent}
      from={steps.reduce((a, b) => Math.min(a, b), steps[0] ?? 0)}
      to={steps.reduce((a, b) => Math.max(a, b), 1)}
      zoom={(a, b) => void zoomToSteps(job.id, a, b)}
      empty="No steps with predictions in this range."
    />
  );
}

// Returns the points of the ROC curve and the area under it. Both come from counts that are summed over ranks and
// binned by the probability of class 1.
export function rocOf(
  counts: [negative: number, positive: number][],
): { points: [number, number][]; area: number } | null {
  const all = counts.reduce(([a, b], [c, d]) => [a + c, b + d] as [number, number], [0, 0] as [number, number]);
  if (!all[0] || !all[1]) return null;
  const points: [number, number][] = [[0, 0]];
  let [seen, hit, area] = [0, 0, 0];
  for (const [negative, positive] of [...counts].reverse()) {
    // The order within a bin is unknown, so the curve is a straight line there.
    area += ((negative / all[0]) * (2 * hit + positive)) / (2 * all[1]);
    [seen, hit] = [seen + negative, hit + positive];
    points.push([seen / all[0], hit / all[1]]);
  }
  return { points, area };
}

const side = 220;

function Roc({ job, list }: { job: JobDetail; list: SeriesList }) {
  const loaded = useSteps(job, list, "train_score_samples", 500);
  const counts: [number, number][] = [];
  for (const one of current(loaded.data?.series ?? [])) {
    const at = Number(one.labels.bin);
    const bin = counts[at] ?? [0, 0];
    bin[one.labels.class === "1" ? 1 : 0] += last(one) ?? 0;
    counts[at] = bin;
  }
  const roc = rocOf(Array.from(counts, (bin) => bin ?? [0, 0]));
  return (
    <figure data-auc={roc?.area ?? ""}>
      <header class="tools">
        <h3>ROC curve, {loaded.mode}, latest step</h3>
        {roc && (
          <span>
            AUC <b class="number">{roc.area.toFixed(3)}</b>
          </span>
        )}
      </header>
      <Reading loaded={loaded} what="the ROC curve" />
      {roc ? (
        <svg class="roc" viewBox={`0 0 ${side} ${side}`} width={side} height={side} role="img" aria-label="ROC curve">
          <path class="frame" d={`M0 0V${side}H${side}V0ZM0 ${side}L${side} 0`} />
          <path
            d={roc.points
              .map(([x, y], i) => `${i ? "L" : "M"}${(x * side).toFixed(1)} ${((1 - y) * side).toFixed(1)}`)
              .join("")}
          />
        </svg>
      ) : (
        loaded.data && <p class="dim">The held-out data contains only one class.</p>
      )}
      <figcaption class="dim small">x: false positive rate · y: true positive rate</figcaption>
    </figure>
  );
}

function Residuals({ job, list }: { job: JobDetail; list: SeriesList }) {
  const loaded = useSteps(job, list, "train_residual_samples", 500);
  const bins = new Map<number, number>();
  for (const one of current(loaded.data?.series ?? []))
    bins.set(Number(one.labels.from), (bins.get(Number(one.labels.from)) ?? 0) + (last(one) ?? 0));
  const rows = [...bins].sort(([a], [b]) => a - b);
  const most = Math.max(1, ...rows.map(([, n]) => n));
  const all = rows.reduce((sum, [, n]) => sum + n, 0);
  return (
    <figure data-residuals={all}>
      <header class="tools">
        <h3>Residuals, {loaded.mode}, latest step</h3>
        <span class="dim">label minus prediction, {plural(all, "sample")}</span>
      </header>
      <Reading loaded={loaded} what="residuals" />
      <svg
        class="roc"
        viewBox={`0 0 ${2 * side} ${side}`}
        width={2 * side}
        height={side}
        role="img"
        aria-label="Residuals"
      >
        {rows.map(([from, n], i) => (
          <rect
            key={from}
            x={(i * 2 * side) / rows.length}
            y={side - (n / most) * side}
            width={(2 * side) / rows.length - 1}
            height={(n / most) * side}
          >
            <title>{`${digits(from)}: ${count(n)}`}</title>
          </rect>
        ))}
      </svg>
      <figcaption class="dim small number">
        {digits(rows[0]?.[0] ?? null)} to {digits(rows[rows.length - 1]?.[0] ?? null)}; the outermost bars include all
        values beyond
      </figcaption>
    </figure>
  );
}

export function Classes({ job, list }: { job: JobDetail; list: SeriesList }) {
  const parts = [
    has(list, "train_feature_importance_ratio") && <Importance key="i" job={job} list={list} />,
    has(list, "train_confusion_samples") && <Confusion key="c" job={job} list={list} />,
    has(list, "train_label_samples_total") && <Curves key="p" job={job} list={list} />,
    has(list, "train_score_samples") && <Roc key="r" job={job} list={list} />,
    has(list, "train_residual_samples") && <Residuals key="e" job={job} list={list} />,
  ].filter((part) => part);
  return (
    <Panel title="Classes and trees" id="classes-title">
      <div class="pad">
        {parts.length === 0 && (
          <p class="dim">
            No feature importance and no predictions by class. With XGBoost,
            callbacks=[pitwall.xgboost_callback(classification=held_out)] sends both. Otherwise,
            pitwall.log_classification(labels, predictions) sends the predictions.
          </p>
        )}
        <div class="classes">{parts}</div>
      </div>
    </Panel>
  );
}
