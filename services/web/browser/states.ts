// Page states that a user may see, each with API responses and an address.
import { answers } from "./answers.ts";
import { at, base } from "./job_answers.ts";
import type { Answer } from "./fixture.ts";
import { heatMap, stepHeatMap } from "./node_answers.ts";
import type { Issue, JobDetail, Rule, Source } from "../src/api/types.ts";

export interface State {
  name: string;
  path: string;
  answers: Record<string, Answer>;
  ready: string; // selector that exists once the state is rendered
  says: string[]; // texts that the state must show
  waits?: boolean; // the state includes parts that are still loading
  shows?: string; // selector to scroll to before the screenshot
}

const ok = (body: unknown): Answer => ({ status: 200, body });
const of = (path: string) => answers(path, new URLSearchParams({ job: base.id }), false);
const detail = of("/job") as JobDetail;
const rules = (of("/rules") as { rules: Rule[] }).rules;
const job = `/jobs/${base.id}`;
const fails = (message: string): Answer => ({
  status: 500,
  body: { error: { code: "data_loss", message, place: "segment 7" } },
});
const parts = (seconds: [number, number, number]): JobDetail["summary"]["parts"] => {
  const sum = seconds.reduce((a, b) => a + b, 0);
  return (["initialization", "training_loop", "finalization"] as const).map((part, i) => ({
    part,
    seconds: seconds[i] as number,
    share: (seconds[i] as number) / sum,
  }));
};

// Returns a job with one attempt that began at t0.
function whole(lengths: [number, number, number], more: Partial<JobDetail>): JobDetail {
  const [begin, loop, loopEnd, end] = [
    at(0),
    at(lengths[0]),
    at(lengths[0] + lengths[1]),
    at(lengths[0] + lengths[1] + lengths[2]),
  ];
  return {
    ...detail,
    state: "ended",
    end_detail: "completed",
    end_text: "completed",
    attempt_count: 1,
    open_issues: 0,
    worst_severity: "",
    first_ns: begin,
    last_ns: end,
    started_ns: begin,
    ended_ns: end,
    done_ns: end,
    attempts: [
      {
        attempt: 0,
        began_ns: begin,
        ended_ns: end,
        end_detail: "completed",
        end_text: "completed",
        first_step_ns: loop,
        last_step_ns: loopEnd,
        lost: [],
      },
    ],
    summary: {
      begin_ns: begin,
      end_ns: end,
      parts: parts(lengths),
      attempts: [
        { attempt: 0, begin_ns: begin, loop_begin_ns: loop, loop_end_ns: loopEnd, end_ns: end, parts: parts(lengths) },
      ],
    },
    ...more,
  };
}

const finished = whole([95, 5200, 105], {});
const threeSteps = whole([1.9, 0.31, 0.02], {
  name: "smoke-test",
  ranks: 1,
  nodes: 1,
  found_issues: 0,
  found: {},
  sources: detail.sources.slice(0, 1),
});
const month = whole([640, 31 * 86_400 - 1540, 900], {
  name: "pretrain-405b-phase-2-with-a-name-that-its-scheduler-made-longer-than-anybody-would-type_2026-01-01T00-00-00",
  found_issues: 214,
});
const thousand: JobDetail = {
  ...detail,
  ranks: 1000,
  nodes: 125,
  sources: Array.from(
    { length: 1000 },
    (_, rank): Source => ({
      source: `r${rank}`,
      node: `gpu-b-${Math.floor(rank / 8)}`,
      rank,
      first_ns: at(0),
      last_ns: at(5400),
      interval_seconds: 0.5,
      goodbye: false,
    }),
  ),
};
const quiet = {
  "/incidents": ok({ incidents: [] }),
  "/issues": ok({ issues: [], next: null, total: 0 }),
  "/actions": ok({ actions: [], notifications: [] }),
};
const judged = (status: Rule["status"], reason: string): Answer =>
  ok({
    rules: rules.map((rule) => ({
      ...rule,
      status,
      verdict: status,
      reason,
      verdict_reason: reason,
      found: 0,
      open: 0,
      ever_found: false,
    })),
  });
// The simulated job has two nodes. Their data is used for the first two nodes of the large job.
const ofMany = (answer: (query: URLSearchParams) => unknown): Answer => ({
  status: 200,
  body: (query: URLSearchParams) => {
    const renamed = new URLSearchParams(query);
    renamed.set(
      "match",
      (query.get("match") ?? "").replaceAll("gpu-b-", "gpu-a-0").replaceAll("a-01", "a-02").replaceAll("a-00", "a-01"),
    );
    return JSON.parse(
      JSON.stringify(answer(renamed)).replaceAll("gpu-a-01", "gpu-b-0").replaceAll("gpu-a-02", "gpu-b-1"),
    );
  },
});
// Last 20 steps for each of 1,000 ranks.
const pairs = Array.from({ length: 20 }, (_, i) => i).flatMap((step) =>
  Array.from({ length: 1000 }, (_, rank) => ({ step, rank })),
);
const stepStart = (step: number, rank: number) => at(5376 + step + (rank % 97) / 1000);
const spansOfMany = {
  spans: {
    source: pairs.map(({ rank }) => `r${rank}`),
    node: pairs.map(({ rank }) => `gpu-b-${Math.floor(rank / 8)}`),
    rank: pairs.map(({ rank }) => rank),
    kind: pairs.map(() => "step"),
    name: pairs.map(() => ""),
    start_ns: pairs.map(({ step, rank }) => stepStart(step, rank)),
    end_ns: pairs.map(({ step, rank }) => stepStart(step + 0.96, rank)),
    step: pairs.map(({ step }) => 3430 + step),
    mode: pairs.map(() => "train"),
  },
  next: null,
};
// A hang that began 5 minutes ago.
const hang: Issue = {
  ...((of("/issues") as { issues: Issue[] }).issues[0] as Issue),
  id: "c011ec71fe",
  incident: "c011ec71fe",
  rule: "default/hangs/CollectiveHang",
  alert: "CollectiveHang",
  labels: { rank: "3", category: "hang" },
  onset_ns: at(5088),
  active_since_ns: at(5100),
  started_ns: at(5100),
  summary: "Rank 3 is missing in a collective; no step for 10.42s",
};
hang.event = {
  ...hang.event,
  id: hang.id,
  time: "2026-01-01T01:25:00.000000000Z",
  data: { ...hang.event.data, alert: hang.alert, rule: hang.rule, value: 10.42, evidence: [] },
};
const hung: JobDetail = {
  ...detail,
  open_issues: 1,
  stalled_since_ns: at(5088),
  attempts: detail.attempts.map((one) => (one.attempt === 1 ? { ...one, last_step_ns: at(5088) } : one)),
};
const never: Answer = { status: 0, body: null };

export const states: State[] = [
  {
    name: "live",
    path: job,
    answers: {},
    ready: "[data-incident]",
    says: ["● Live", "Since 2026-01-01 01:10:40", "found 01:11:40", "Running, 2 open issues", "What to do"],
  },
  {
    name: "frozen",
    path: `${job}?tab=nodes&from=${at(3600)}&to=${at(4800)}`,
    answers: {},
    ready: ".timeline canvas[data-ready]",
    says: ["Fixed range", "● Live"],
  },
  {
    name: "finished",
    path: job,
    answers: {
      "/job": ok(finished),
      "/incidents": ok({
        incidents: (of("/incidents") as { incidents: { open: boolean }[] }).incidents.filter((one) => !one.open),
      }),
      "/issues": ok({
        issues: (of("/issues") as { issues: { open: boolean }[] }).issues.filter((one) => !one.open),
        next: null,
        total: 1,
      }),
      "/rules": judged("NoIssuesFound", ""),
    },
    ready: ".incident.calm",
    says: ["Completed", "No open issues", "8 of 8 rules evaluated", "2026-01-01 01:30:00"],
  },
  {
    name: "empty",
    path: "/",
    answers: { "/jobs": ok({ jobs: [], next: null, total: 0 }) },
    ready: ".empty",
    says: ["No jobs yet", "0 jobs"],
  },
  {
    name: "loading",
    path: job,
    answers: Object.fromEntries(
      ["/incidents", "/issues", "/actions", "/rules", "/resources", "/operators"].map((path) => [path, never]),
    ),
    ready: ".waiting",
    says: ["Loading incidents", "Loading issues", "Loading rules"],
    waits: true,
  },
  {
    name: "error",
    path: job,
    answers: {
      ...Object.fromEntries(
        ["/incidents", "/issues", "/resources"].map((path) => [
          path,
          fails("segment 7: damaged (CRC differs); delete the job or restore the segment"),
        ]),
      ),
    },
    ready: ".fault",
    says: ["segment 7: damaged", "Retry"],
  },
  {
    name: "no-data",
    path: job,
    answers: {
      ...quiet,
      "/rules": judged("NoData", "no series of train_step_duration_seconds"),
      "/resources": ok({ nodes: [] }),
      "/operators": ok({ operators: [], total_ns: "0", left_out: 0 }),
    },
    ready: "[data-rule]",
    says: [
      "No data",
      "No rule has enough data yet",
      "0 of 8 rules evaluated",
      "8 rules",
      "Log it from the training script",
    ],
  },
  {
    name: "hang",
    path: `${job}?issue=${hang.id}`,
    answers: {
      "/job": ok(hung),
      "/incidents": ok({
        incidents: [
          {
            id: hang.id,
            root: hang,
            likely_roots: 1,
            open: true,
            severity: "critical",
            started_ns: hang.started_ns,
            ended_ns: null,
            issues: [hang],
          },
        ],
      }),
      "/issues": ok({ issues: [hang], next: null, total: 1 }),
      "/issue": ok({ ...hang, events: [hang.event], actions: [], notifications: [] }),
    },
    ready: ".evidence canvas[data-ready]",
    says: [
      "Running, no step for 5\u202fmin 12\u202fs",
      "no step for 10.42s (as of 01:25:00)",
      "Since 2026-01-01 01:24:48 (last step, 5\u202fmin 12\u202fs ago)",
      "found 01:25:00",
    ],
  },
  {
    name: "thousand-ranks",
    path: `${job}?tab=nodes`,
    answers: {
      "/job": ok(thousand),
      "/heatmap": ofMany(heatMap),
      "/heatmap/steps": ofMany((query) => stepHeatMap(query, 1000)),
      "/spans": ofMany(() => spansOfMany),
    },
    ready: ".timeline canvas[data-ready]",
    shows: "[aria-labelledby=steps-title]",
    says: ["125 nodes", "1,000 ranks"],
  },
  {
    name: "three-steps",
    path: job,
    answers: {
      ...quiet,
      "/job": ok(threeSteps),
      "/rules": judged("InProgress", "not judged before there are 30 samples: 3 so far"),
    },
    ready: ".incident.calm",
    says: ["1 rank", "2.23\u202fs", "310\u202fms"],
  },
  { name: "month", path: job, answers: { "/job": ok(month) }, ready: "[data-incident]", says: ["31\u202fd 0\u202fh"] },
];
