// Tests for the Overview tab, in a real browser against the fixture server.
import { expect, test } from "@playwright/test";
import { answers, resources, whatIf } from "./answers.ts";
import { action, clocks, straggler } from "./issue_answers.ts";
import { at, hostile } from "./job_answers.ts";
import { checkAccess, checkFit, fixture, open, serveEachTest } from "./harness.ts";
import { msOf } from "../src/parts/format.ts";
import type { Incident, Issue, JobDetail, Rule } from "../src/api/types.ts";

serveEachTest();

test("the incident shows the fields of its event", async ({ page }) => {
  await open(page, "/jobs/slurm-91734");
  const sentence = page.locator("[data-incident]");
  await expect(sentence).toHaveCount(1);
  const field = (name: string) => sentence.locator(`[data-field=${name}]`);
  await expect(sentence).toHaveAttribute("data-incident", straggler.incident);
  await expect(field("who")).toHaveText(`rank ${straggler.labels.rank}, node ${straggler.labels.node}`);
  await expect(field("what")).toHaveText(straggler.event.data.summary as string);
  await expect(field("since")).toHaveAttribute("data-ns", straggler.onset_ns as string);
  await expect(field("since")).toHaveAttribute("datetime", "2026-01-01T01:10:40.000000123Z");
  await expect(field("found")).toHaveAttribute("data-ns", straggler.started_ns as string);
  await expect(field("cost")).toHaveAttribute("data-share", String(whatIf.saved_share));
  await expect(field("cause")).toHaveText(straggler.alert);
  await expect(field("action")).toContainText(`${action.data.action} decided`);
  await expect(field("action")).toContainText("(dry run, not executed)");
});

test("a summary with old numbers shows their time", async ({ page }) => {
  await open(page, `/jobs/slurm-91734?issue=${clocks.id}`);
  await expect(page.locator("[data-incident]")).toContainText(`${clocks.summary} (as of 01:15:10)`);
  await expect(page.locator(`#issue-${clocks.id} .what`)).toContainText("(as of 01:15:10)");
  await expect(page.locator(".issues .ended .what").first()).not.toContainText("(as of "); // ended issues have their own times
});

test("a running job with open issues is not shown as healthy", async ({ page }) => {
  await open(page, "/");
  const state = (job: string) => page.locator(`tr[data-job="${job}"] .state`);
  await expect(state("slurm-91734")).toHaveClass(/bad/);
  await expect(state("slurm-91741")).toHaveClass(/warn/);
  await expect(state("job-hostile")).toHaveClass(/good/); // severity info keeps the tone good
  await expect(state("slurm-91741")).toHaveText("◆ Running");
  const page1 = answers("/jobs", new URLSearchParams(), false) as { jobs: { id: string }[] };
  fixture.override("/jobs", {
    status: 200,
    body: {
      ...page1,
      jobs: page1.jobs.map((one) => (one.id === "slurm-91741" ? { ...one, stalled_since_ns: at(5300 - 301) } : one)),
    },
  });
  await page.reload();
  await expect(state("slurm-91741")).toHaveText("◆ Runningno step for 5\u202fmin 1\u202fs");
  await checkFit(page);
});

test("evidence from rollups shows that raw data was dropped", async ({ page }) => {
  const detail = answers("/job", new URLSearchParams({ job: "slurm-91734" }), false) as JobDetail;
  for (const [raw_from_ns, count] of [
    [at(5000), 1],
    [at(60), 0],
  ] as const) {
    fixture.override("/job", { status: 200, body: { ...detail, raw_from_ns, raw_dropped_ns: at(86_400 * 40) } });
    await open(page, `/jobs/slurm-91734?issue=${clocks.id}`);
    await expect(page.locator(".evidence canvas[data-ready]").first()).toBeVisible();
    await expect(page.locator("[data-rollups]")).toHaveCount(count);
    if (count)
      await expect(page.locator("[data-rollups]")).toHaveText(
        "Raw data was dropped on 2026-02-10; the chart uses rollups.",
      );
  }
});

test("progress shows attempts, interruption, lost rank, and issues", async ({ page }) => {
  await open(page, "/jobs/slurm-91734");
  const line = page.locator(".progress .parts");
  await expect(line.locator("[data-piece]")).toHaveCount(6);
  const pieces = await line
    .locator("[data-piece]")
    .evaluateAll((all) =>
      all.map((one) => [
        (one as HTMLElement).dataset.piece,
        Number.parseFloat((one as HTMLElement).style.left),
        Number.parseFloat((one as HTMLElement).style.width),
      ]),
    );
  const share = (from: number, to: number) => [(from / 5400) * 100, ((to - from) / 5400) * 100];
  const expected = [
    ["initialization", ...share(0, 95)],
    ["training_loop", ...share(95, 1790)],
    ["finalization", ...share(1790, 1800)],
    ["between_attempts", ...share(1800, 1860)],
    ["initialization", ...share(1860, 1950)],
    ["training_loop", ...share(1950, 5400)],
  ];
  for (const [i, [kind, left, width]] of expected.entries()) {
    expect(pieces[i]?.[0]).toBe(kind);
    expect(pieces[i]?.[1]).toBeCloseTo(left as number, 2);
    expect(pieces[i]?.[2]).toBeCloseTo(width as number, 2);
  }
  await expect(line.locator("[data-lost='3']")).toHaveAttribute("title", /gpu-a-01, out of memory/);
  await expect(page.locator(".progress [data-issue]")).toHaveCount(3);
  // Time before the first attempt counts as initialization, as in the table of parts.
  const detail = answers("/job", new URLSearchParams({ job: "slurm-91734" }), false) as JobDetail;
  const [first, ...rest] = detail.summary.attempts;
  fixture.override("/job", {
    status: 200,
    body: { ...detail, summary: { ...detail.summary, attempts: [{ ...first, begin_ns: at(40) }, ...rest] } },
  });
  await page.reload();
  await expect(line.locator("[data-piece]").first()).toHaveAttribute("style", /left: 0%/);
});

test("an issue expands to finding, suggestion, criterion, and activity", async ({ page }) => {
  await open(page, "/jobs/slurm-91734");
  const row = page.locator(`#issue-${straggler.id}`);
  await row.locator("button.issue").click();
  await expect(page).toHaveURL(new RegExp(`issue=${straggler.id}`));
  const { data } = straggler.event;
  for (const text of [data.summary, data.description, data.suggestion, straggler.rule, data.evidence?.[0]?.name])
    await expect(row).toContainText(text as string);
  for (const [name, value] of Object.entries(data.parameters ?? {}))
    await expect(row.getByRole("row", { name: `$${name} ${value}`, exact: true })).toBeVisible();
  await expect(row.locator("[data-field=threshold]")).toHaveText("1.2");
  await expect(row.locator(".done")).toContainText("stop decided");
  await expect(row.locator(".done li")).toHaveCount(
    straggler.events.length + straggler.actions.length + straggler.notifications.length,
  );
  await row.locator("button.issue").click();
  await expect(page).not.toHaveURL(/issue=/);
});

// A plain metric shows the stored series; an expression shows the values in the events.
for (const [kind, issue] of [
  ["a plain metric", clocks],
  ["an expression", straggler],
] as const) {
  test(`the evidence chart of ${kind} shows the threshold and the issue's times`, async ({ page }) => {
    await open(page, `/jobs/slurm-91734?issue=${issue.id}`);
    const chart = page.locator(".chart canvas[data-ready]").first();
    await expect(chart).toBeVisible();
    const { thresholdY, plotHeight, yMin, yMax } = await chart.evaluate((element) => ({
      ...(element as HTMLElement).dataset,
    }));
    const [low, high, tall] = [Number(yMin), Number(yMax), Number(plotHeight)];
    const decoded = high - (Number(thresholdY) / tall) * (high - low);
    expect(Math.abs(decoded - (issue.threshold as number))).toBeLessThanOrEqual((high - low) / tall);
    // The row of pixels must have the color of the threshold.
    const red = await chart.evaluate((element) => {
      const canvas = element as HTMLCanvasElement;
      const y = Number(canvas.dataset.plotTop) + Number(canvas.dataset.thresholdY);
      const { data } = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(
        0,
        y * devicePixelRatio,
        canvas.width,
        1,
      );
      let n = 0;
      for (let i = 0; i < data.length; i += 4)
        if ((data[i] as number) > 150 && (data[i + 1] as number) < 70 && (data[i + 2] as number) < 70) ++n;
      return n;
    });
    expect(red).toBeGreaterThan(100);
    const figure = page.locator("figure.evidence");
    await expect(figure).toHaveAttribute("data-pending-ns", issue.active_since_ns as string);
    await expect(figure).toHaveAttribute("data-firing-ns", issue.started_ns as string);
    await expect(figure).toHaveAttribute("data-end-ns", "");
    // Check the shades next to each edge: none, pending, and firing up to the right end.
    const shades = await chart.evaluate(
      (element, times) => {
        const canvas = element as HTMLCanvasElement;
        const { plotTop, plotHeight: height, left, right, xMin, xMax } = canvas.dataset as Record<string, string>;
        const width = canvas.clientWidth - Number(left) - Number(right);
        return times.map(([ms, beside]) => {
          const x =
            Math.round(Number(left) + (((ms as number) - Number(xMin)) / (Number(xMax) - Number(xMin))) * width) +
            (beside as number);
          // The canvas has no background, so the pixels are unblended.
          const [r = 0, g = 0, , alpha = 0] = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(
            x * devicePixelRatio,
            (Number(plotTop) + Number(height) - 3) * devicePixelRatio,
            1,
            1,
          ).data;
          return !alpha || r - g < 20 ? "none" : g > 100 ? "pending" : "firing";
        });
      },
      [
        [msOf(issue.active_since_ns as string), -3],
        [msOf(issue.active_since_ns as string), 3],
        [msOf(issue.started_ns as string), -3],
        [msOf(issue.started_ns as string), 3],
        [msOf(at(5400)), -3],
      ],
    );
    expect(shades).toEqual(["none", "pending", "pending", "firing", "firing"]);
    const asked = fixture.asked
      .map(decodeURIComponent)
      .some(
        (line) => line.includes("/chart") && line.includes('match=hw_temperature_celsius{node="gpu-a-02",hw_id="1"}'),
      );
    expect(asked).toBe(issue === clocks);
  });
}

test("the chart of an expression shows its query and event values", async ({ page }) => {
  const { rules } = answers("/rules", new URLSearchParams({ job: "slurm-91734" }), false) as { rules: Rule[] };
  const expression = "(max by (rank) (avg_over_time(train_loss[1m])) > $ratio) and on () (count(train_loss) > 1)";
  fixture.override("/rules", {
    status: 200,
    body: {
      rules: rules.map((rule) => ({
        ...rule,
        definition: rule.definition && { ...rule.definition, expression, needs: ["train_loss"] },
      })),
    },
  });
  const value = (s: number) => 1 + 0.31 * Math.min(1, Math.max(0, (s - 4200) / 100));
  const series = (rank: string, query: URLSearchParams) => {
    const [from, to, step] = ["start", "end", "step"].map((name) => Number(query.get(name))) as [
      number,
      number,
      number,
    ];
    return {
      metric: { rank },
      values: Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => [
        from + i * step,
        String(value(from + i * step - 1_767_225_600)),
      ]),
    };
  };
  fixture.override("/api/v1/query_range", {
    status: 200,
    body: (query: URLSearchParams) => ({
      status: "success",
      data: { resultType: "matrix", result: ["4", "5"].map((rank) => series(rank, query)) },
    }),
  });
  await open(page, `/jobs/slurm-91734?issue=${straggler.id}`);
  const figure = page.locator("figure.evidence");
  await expect(figure).toHaveAttribute(
    "data-query",
    'max by (rank) (avg_over_time(train_loss{pitwall_job="slurm-91734"}[1m]))',
  );
  const chart = figure.locator("canvas[data-ready]");
  await expect(chart).toHaveCount(1); // no other chart
  await expect(chart).toHaveAttribute("data-lines", "2"); // rank 5 and the events
  const { thresholdY, plotHeight, yMin, yMax } = (await chart.evaluate((element) => ({
    ...(element as HTMLElement).dataset,
  }))) as Record<string, string>;
  const [low, high, tall] = [Number(yMin), Number(yMax), Number(plotHeight)];
  expect(
    Math.abs(high - (Number(thresholdY) / tall) * (high - low) - (straggler.threshold as number)),
  ).toBeLessThanOrEqual((high - low) / tall);
  await expect(figure).toContainText("left side of the criterion");
  await checkFit(page);
});

test("an issue shows the evidence of an earlier event", async ({ page }) => {
  const { events } = clocks;
  const { threshold: _none, evidence: _gone, ...rest } = clocks.event.data;
  const last = { ...clocks.event, id: "ended", type: "io.pitwall.issue.resolved", data: rest };
  fixture.override("/issue", { status: 200, body: { ...clocks, event: last, events: [...events, last] } });
  await open(page, `/jobs/slurm-91734?issue=${clocks.id}`);
  const body = page.locator(`#issue-${clocks.id} .body`);
  await expect(body.locator("[data-field=threshold]")).toHaveText("87");
  await expect(body.getByRole("table", { name: "Evidence" })).toContainText("hw_temperature_celsius");
  await expect(body.locator("figure.evidence figcaption")).toContainText("hw_temperature_celsius");
  await expect(body.locator("canvas[data-threshold-y]")).toBeVisible();
});

test("time travel shows the texts of that time", async ({ page }) => {
  const job = "/jobs/slurm-91734";
  const words = async (path: string) => {
    await open(page, path);
    await expect(page.locator("[data-incident], .rulelist details, [data-notification]").first()).toBeVisible();
    await expect(page.locator(".waiting")).toHaveCount(0);
    return page.locator("main").evaluate((main) => {
      main.querySelector(".past")?.remove();
      return main.textContent as string;
    });
  };
  const tabs = ["", "tab=rules", "tab=actions"];
  const live: string[] = [];
  for (const tab of tabs) live.push(await words(`${job}?${tab}`));
  // Ten minutes later, the job has died and its issues have ended. The server still answers requests for earlier times.
  const recorded = (path: string) => (query: URLSearchParams) => answers(path, query, false) as object;
  const later: Record<string, (was: object) => object> = {
    "/job": (was) => ({
      ...was,
      state: "ended",
      end_detail: "died",
      end_text: "died",
      last_ns: at(6000),
      ended_ns: at(6000),
    }),
    "/issues": () => ({ issues: [], next: null, total: 0 }),
    "/incidents": () => ({ incidents: [] }),
    "/rules": () => ({ rules: [] }),
    "/actions": () => ({ actions: [], notifications: [] }),
  };
  for (const [path, change] of Object.entries(later))
    fixture.override(path, {
      status: 200,
      body: (query: URLSearchParams) => (query.has("at") ? recorded(path)(query) : change(recorded(path)(query))),
    });
  await open(page, job);
  await expect(page.locator(".tools .state")).toContainText("Died");
  for (const [i, tab] of tabs.entries()) expect(await words(`${job}?at=${at(5400)}&${tab}`)).toBe(live[i]);
});

test("the chart of an expression includes the input of the rule", async ({ page }) => {
  const { rules } = answers("/rules", new URLSearchParams({ job: "slurm-91734" }), false) as { rules: Rule[] };
  const reading = rules.map((rule) => ({
    ...rule,
    definition: rule.definition && { ...rule.definition, needs: ["train_nothing", "train_loss"] },
  }));
  fixture.override("/rules", { status: 200, body: { rules: reading } });
  await open(page, `/jobs/slurm-91734?issue=${straggler.id}`);
  const read = page.locator("figure.evidence [data-reads]");
  await expect(read).toHaveAttribute("data-reads", "train_loss");
  await expect(read).toContainText("input of the rule");
  await expect(read.locator("canvas[data-ready]")).toBeVisible();
  await checkFit(page);
});

test("the worst incident comes first, also for ended jobs", async ({ page }) => {
  const { incidents } = answers("/incidents", new URLSearchParams({ job: "slurm-91734" }), false) as {
    incidents: Incident[];
  };
  const of = incidents[0] as Incident;
  const ended = { ...of, open: false, root: { ...of.root, open: false, end_reason: "job_ended" } };
  for (const one of [of, ended]) {
    const made = ["info", "info", "warning", "info", "critical"].map((severity, i) => ({
      ...one,
      id: `incident-${i}`,
      severity,
      root: { ...one.root, severity, summary: `${severity} ${i}` },
    }));
    fixture.override("/incidents", { status: 200, body: { incidents: made } });
    await open(page, "/jobs/slurm-91734");
    await expect(page.locator("section.incident li").first()).toContainText("critical 4");
    await expect(page.locator("section.incident")).toContainText("warning 2");
    await expect(page.locator("section.incident")).toHaveClass(/critical/);
  }
});

test("a silenced issue shows author, end, and comment", async ({ page }) => {
  const silenced = { by: "ada", comment: `known ${hostile.name.slice(0, 40)}`, until_ns: at(9000) };
  const mark = <T extends { id: string }>(one: T): T => (one.id === straggler.id ? { ...one, silenced } : one);
  const { issues } = answers("/issues", new URLSearchParams({ job: "slurm-91734" }), false) as { issues: Issue[] };
  const { incidents } = answers("/incidents", new URLSearchParams({ job: "slurm-91734" }), false) as {
    incidents: Incident[];
  };
  fixture.override("/issues", { status: 200, body: { issues: issues.map(mark), next: null, total: issues.length } });
  fixture.override("/incidents", {
    status: 200,
    body: { incidents: incidents.map((one) => ({ ...one, root: mark(one.root) })) },
  });
  await open(page, "/jobs/slurm-91734");
  await expect(page.locator(`#issue-${straggler.id}`)).toContainText(
    `⊘ Silenced by ada until 2026-01-01 02:30:00: ${silenced.comment}`,
  );
  await expect(page.locator("[data-incident]")).toContainText("Silenced by ada until 2026-01-01 02:30:00");
  await expect(page.getByText("Silenced by")).toHaveCount(2);
  await checkFit(page);
  await checkAccess(page);
});

test("a rule without data names the missing series and its source", async ({ page }) => {
  await open(page, "/jobs/slurm-91734");
  // Two rules that need the same command share a row. One of the rules has since been removed.
  const row = page.locator('[data-rule="fleet/memory/HostLeak"]');
  for (const text of ["No data", "2 rules", "pitwall collector"]) await expect(row).toContainText(text);
  await row.locator("summary").click();
  for (const text of [
    "gpu/xid/XidFatal no series of hw_errors_total",
    "fleet/memory/HostLeak no series of process_memory_usage_bytes",
  ])
    await expect(row.getByText(text)).toBeVisible();
  // The client is already in use, so the page does not suggest importing it.
  const gradient = page.locator('[data-rule="debugger-tensor/VanishingGradient"]');
  await expect(gradient).toContainText("no series of tensor_gradient_abs_mean, train_step");
  await expect(gradient).toContainText("pitwall.watch");
  await expect(gradient).not.toContainText("import pitwall");
  await expect(page.locator('[data-rule="hangs/CollectiveHang"]')).toHaveCount(0);
  await page.getByRole("button", { name: "without issues" }).click();
  await expect(page.locator('[data-rule="hangs/CollectiveHang"]')).toBeVisible();
});

test("shares sum to 100% and resources match the API", async ({ page }) => {
  await open(page, "/jobs/slurm-91734");
  const shares = page.locator("[data-part] [data-share]");
  await expect(shares).toHaveCount(4);
  const sum = (await shares.evaluateAll((all) => all.map((one) => Number((one as HTMLElement).dataset.share)))).reduce(
    (a, b) => a + b,
    0,
  );
  expect(sum).toBeCloseTo(1, 9);
  await expect(page.locator("[data-part=training_loop]")).toContainText("95.3");
  await expect(page.locator("[aria-label='Resources by node']")).toBeVisible();
  const cells = await page
    .locator("[aria-label='Resources by node'] [data-value]")
    .evaluateAll((all) => all.map((one) => Number((one as HTMLElement).dataset.value)));
  expect(cells).toEqual(
    resources.nodes.flatMap((node) =>
      node.metrics.flatMap((row) => [row.min, row.p50, row.p90, row.p95, row.p99, row.max]),
    ),
  );
});
