// Jobs of answers.ts: the list, and one job with 2 nodes, 8 ranks, and 2 attempts. Also the times and names that all
// responses share.
import type { Attempt, AttemptSummary, Job, JobDetail, JobPage, Part } from "../src/api/types.ts";

export const second = 1_000_000_000n;
export const t0 = 1_767_225_600n * second; // 2026-01-01 00:00:00 UTC
export const at = (seconds: number, more = 0n) => String(t0 + BigInt(Math.round(seconds * 1000)) * 1_000_000n + more);
export const rfc = (ns: string) =>
  `${new Date(Number(BigInt(ns) / second) * 1000).toISOString().slice(0, 19)}.${String(BigInt(ns) % second).padStart(9, "0")}Z`;
export const hex = (word: string) =>
  Array.from(word, (c) => c.charCodeAt(0).toString(16).padStart(2, "0"))
    .join("")
    .padEnd(32, "0")
    .slice(0, 32);

export const markup = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
export const hostile = {
  id: "job-hostile",
  name: `${markup}\u202egnp.exe ${"n".repeat(10_000)}`,
  summary: `${markup} \u202e${"s".repeat(10_000)}`,
};
const reference = {
  platform: "slurm",
  cluster: "a100-east",
  namespace: "",
  kind: "job",
  name: "91734",
  uid: "",
  queue: "research",
};

export const base: Job = {
  id: "slurm-91734",
  name: "llama-7b-pretrain",
  owner: "uid:1000",
  reference,
  state: "running",
  first_ns: at(0),
  last_ns: at(5400),
  started_ns: at(0),
  ended_ns: null,
  done_ns: null,
  end_detail: "",
  end_text: "",
  attempt_count: 2,
  ranks: 8,
  nodes: 2,
  open_issues: 2,
  found_issues: 3,
  worst_severity: "critical",
  stalled_since_ns: null,
  samples: 4_200_000,
  bytes: 5_100_000,
  raw_from_ns: null,
  raw_dropped_ns: null,
  archived: false,
  link: "/jobs/slurm-91734",
};
const job = (more: Partial<Job>): Job => ({ ...base, link: `/jobs/${more.id}`, ...more });
export const jobs: Job[] = [
  base,
  job({
    id: "slurm-91730",
    name: "vit-large-finetune",
    state: "ended",
    ended_ns: at(4000),
    done_ns: at(3995),
    last_ns: at(4000),
    end_detail: "completed",
    end_text: "completed",
    attempt_count: 1,
    open_issues: 0,
    found_issues: 0,
    worst_severity: "",
  }),
  job({
    id: "k8s-7f3a",
    name: "asr-conformer",
    owner: "pod:7f3a",
    state: "ended",
    ended_ns: at(900),
    done_ns: at(780),
    last_ns: at(900),
    end_detail: "failed",
    end_text: "failed",
    attempt_count: 9,
    ranks: 64,
    nodes: 8,
    open_issues: 0,
    found_issues: 12,
    worst_severity: "",
  }),
  job({
    id: "slurm-91741",
    name: "mixtral-sft",
    last_ns: at(5300),
    attempt_count: 1,
    ranks: 16,
    nodes: 4,
    open_issues: 1,
    found_issues: 1,
    worst_severity: "warning",
  }),
  job({ id: hostile.id, name: hostile.name, owner: markup, open_issues: 1, worst_severity: "info" }),
];

export function manyJobs(n: number): Job[] {
  return Array.from({ length: n }, (_, i) =>
    job({
      id: `job-${String(i).padStart(5, "0")}`,
      name: `run ${i}`,
      open_issues: i % 7 === 0 ? 1 : 0,
      worst_severity: i % 7 === 0 ? "warning" : "",
    }),
  );
}

export function jobPage(all: Job[], query: URLSearchParams): JobPage {
  const state = query.get("state") ?? "all";
  const name = query.get("name") ?? "";
  const found = all.filter(
    (one) => (state === "all" || one.state === state) && (one.name.includes(name) || one.id.includes(name)),
  );
  const begin = Number(query.get("page") ?? 0);
  const end = begin + Number(query.get("limit") ?? 100);
  return { jobs: found.slice(begin, end), next: end < found.length ? String(end) : null, total: found.length };
}

const parts = (lengths: [number, number, number, number]): Part[] => {
  const sum = lengths.reduce((a, b) => a + b, 0);
  const names = ["initialization", "training_loop", "finalization", "between_attempts"] as const;
  return names.map((part, i) => ({ part, seconds: lengths[i] as number, share: (lengths[i] as number) / sum }));
};
const attempts: Attempt[] = [
  {
    attempt: 0,
    began_ns: at(0),
    ended_ns: at(1800),
    end_detail: "died",
    end_text: "died",
    first_step_ns: at(95),
    last_step_ns: at(1790),
    lost: [{ time_ns: at(1798), rank: 3, node: "gpu-a-01", signal: 9, exit_code: null, oom_killed: true }],
  },
  {
    attempt: 1,
    began_ns: at(1860),
    ended_ns: null,
    end_detail: "",
    end_text: "",
    first_step_ns: at(1950),
    last_step_ns: at(5400),
    lost: [],
  },
];
const lives: AttemptSummary[] = [
  {
    attempt: 0,
    begin_ns: at(0),
    loop_begin_ns: at(95),
    loop_end_ns: at(1790),
    end_ns: at(1800),
    parts: parts([95, 1695, 10, 0]),
  },
  {
    attempt: 1,
    begin_ns: at(1860),
    loop_begin_ns: at(1950),
    loop_end_ns: at(5400),
    end_ns: at(5400),
    parts: parts([90, 3450, 0, 0]),
  },
];
const source = (rank: number) => ({
  source: `r${rank}`,
  node: rank < 4 ? "gpu-a-01" : "gpu-a-02",
  rank,
  first_ns: at(0),
  last_ns: at(5400),
  interval_seconds: 0.5,
  goodbye: false,
});
export const detail: JobDetail = {
  ...base,
  attempts,
  sources: [
    ...Array.from({ length: 8 }, (_, rank) => source(rank)),
    { ...source(0), source: "node gpu-a-01", rank: null },
  ],
  found: { "training/StragglerRank": 1 },
  summary: { begin_ns: at(0), end_ns: at(5400), parts: parts([185, 5145, 10, 60]), attempts: lives },
};
