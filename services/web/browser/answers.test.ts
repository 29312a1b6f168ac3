// Tests that the recorded responses match their schemas in openapi.yaml. Also tests formats and expressions.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "yaml";
import {
  bytes,
  count,
  digits,
  duration,
  exactTime,
  msOf,
  percent,
  secondsBetween,
  shownNumber,
  time,
} from "../src/parts/format.ts";
import { leftSide, queryOf } from "../src/issues/expression.ts";
import { supplies } from "../src/rules/supplies.ts";
import { answers } from "./answers.ts";
import { clocks } from "./issue_answers.ts";
import { at, hostile } from "./job_answers.ts";

const openapi = parse(readFileSync("openapi.yaml", "utf8"));
const ajv = new Ajv2020({ strict: false });
ajv.addSchema({ $id: "api", components: openapi.components });

const checked: [string, string, Record<string, string>][] = [
  ["/jobs", "Jobs", {}],
  ["/job", "JobDetail", {}],
  ["/issues", "Issues", {}],
  ["/issue", "IssueDetail", { id: clocks.id }],
  ["/incidents", "Incidents", {}],
  ["/actions", "Actions", {}],
  ["/rules", "Rules", {}],
  ["/resources", "Resources", {}],
  ["/operators", "Operators", {}],
  ["/what-if", "WhatIf", { rank: "5" }],
  ["/differs", "Differs", {}],
  ["/captures", "Captures", {}],
  ["/chart", "Chart", { match: "hw_temperature_celsius{}" }],
  ["/chart", "Chart", { match: "system_network_io_bytes_total{}" }],
  ["/heatmap", "HeatMap", { match: "hw_gpu_utilization_ratio{}", width: "20" }],
  ["/heatmap/steps", "StepHeatMap", { basis: "own" }],
  ["/spans", "Spans", { limit: "100" }],
  ["/phases", "Phases", {}],
  ["/chart", "Chart", { match: "train_loss", axis: "step", mode: "eval" }],
  ["/chart", "Chart", { match: "train_loss" }],
  ["/series", "SeriesList", {}],
  ["/tensors", "Tensors", {}],
  ["/steps", "Steps", { from_step: "7" }],
];
for (const [path, schema, query] of checked) {
  for (const job of ["slurm-91734", hostile.id]) {
    if (path === "/issue" && job === hostile.id) continue;
    test(`${path} of ${job} matches ${schema}`, () => {
      assert.ok(openapi.paths[path], "the API has this path");
      const answer = answers(path, new URLSearchParams({ job, ...query }), job === hostile.id);
      const validate = ajv.compile({ $ref: `api#/components/schemas/${schema}` });
      assert.ok(validate(JSON.parse(JSON.stringify(answer))), JSON.stringify(validate.errors?.slice(0, 3)));
    });
  }
}

test("nanoseconds keep full precision", () => {
  assert.equal(exactTime("1767225600000000001"), "2026-01-01T00:00:00.000000001Z");
  assert.equal(secondsBetween("1767225600000000001", "1767225600000000003"), 2e-9);
  assert.equal(msOf(at(1.5)), 1767225601500);
  assert.equal(time(null), "–");
});

test("the query is the left side of the criterion for one job", () => {
  assert.equal(leftSide("(1 - avg by (node) (x)) > $busy"), "(1 - avg by (node) (x))");
  assert.equal(
    leftSide('((time() - max(timestamp(x))) > $stall) unless on () (max(y{phase=~"a > 1 or (b"}) == 1)'),
    "(time() - max(timestamp(x)))",
  );
  assert.equal(leftSide("(x > 1) or (y > 2)"), "");
  assert.equal(leftSide("(x) + (y)"), "");
  const busy = '(1 - avg by (node) (avg_over_time(cpu_ratio{mode="idle"}[$window]) / cpu_ratio_max)) > $busy';
  assert.equal(
    queryOf(busy, ["cpu_ratio"], 'a "job"', { busy: 0.9, window: "10s" }),
    '(1 - avg by (node) (avg_over_time(cpu_ratio{pitwall_job="a \\"job\\"",mode="idle"}[10s]) / cpu_ratio_max))',
  );
  assert.equal(queryOf("x / x > 1", ["x"], "j", {}), 'x{pitwall_job="j"} / x{pitwall_job="j"}');
  // Inputs that the history does not store: other rules' series, windows of steps and attempts, and unknown parameters.
  for (const text of [
    "rank:own:ratio > 1",
    "avg_over_time(x[100]) > 1",
    "max(x[attempt]) > 1",
    "((x > 1) and (y > 1)) or (z > 2)",
    "x * $factor > 1",
  ])
    assert.equal(queryOf(text, ["x"], "j", {}), "", text);
});

test("each missing series has a command that supplies it", () => {
  const { metrics } = parse(readFileSync("metrics.yaml", "utf8")) as { metrics: { name: string; producer: string }[] };
  const command: Record<string, string> = {
    collector: "pitwall collector",
    client: "import pitwall",
    foreign: "pack:derive",
  };
  assert.ok(metrics.length > 100);
  for (const { name, producer } of metrics) {
    // A rule never lacks a series that the engine derives, except for baselines from earlier runs.
    const wanted = name.startsWith("baseline_") ? "pitwall baseline" : command[producer];
    if (wanted)
      assert.ok(
        supplies(`no series of ${name}`, false).includes(wanted),
        `${name} of the ${producer}: ${supplies(`no series of ${name}`, false)}`,
      );
  }
  assert.equal(supplies("no series of hw_power_watts; withheld", false), "");
  assert.equal(supplies("waits for 30 steps", false), "");
  assert.ok(!supplies("no series of train_loss", true).includes("import"), "its client is there");
});

test("numbers are formatted readably", () => {
  const plain = (text: string) => text.replaceAll("\u202f", " ");
  assert.equal(plain(duration(0.0125)), "12.5 ms");
  assert.equal(plain(duration(59.7)), "1 min 0 s");
  for (const [seconds, text] of [
    [0.99951, "1 s"],
    [9.9951e-4, "1 ms"],
    [9.9951e-7, "1 µs"],
    [0.9994, "999 ms"],
  ] as const)
    assert.equal(plain(duration(seconds)), text);
  assert.equal(plain(bytes(1048571)), "1.00 MiB");
  assert.equal(plain(duration(3 * 86400 + 7200)), "3 d 2 h");
  assert.equal(plain(duration(-90)), "−1 min 30 s");
  assert.equal(plain(percent(0.0512)), "5.12%");
  assert.equal(plain(percent(1)), "100.0%");
  assert.equal(plain(percent(0.00004)), "< 0.01%");
  assert.equal(plain(bytes(71e9)), "66.1 GiB");
  assert.equal(plain(count(1234567)), "1,234,567");
  assert.equal(digits(1.31), "1.31");
  assert.equal(digits(0), "0");
  assert.equal(digits(999.6), "1,000");
  assert.equal(digits(-4096), "−4,096");
  assert.equal(digits(0.00346), "0.00346");
  assert.equal(digits(0.000346), "3.46e−4");
  assert.equal(digits(-0.000012), "−1.20e−5");
  assert.equal(shownNumber("NaN"), "NaN");
  assert.equal(shownNumber("-Inf"), "−∞");
  assert.equal(shownNumber(undefined), "–");
});
