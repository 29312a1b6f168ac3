// Tests for the Nodes tab, in a real browser against the fixture server.
import { expect, type Page, test } from "@playwright/test";
import { answers } from "./answers.ts";
import { at, hostile } from "./job_answers.ts";
import { checkAccess, checkFit, fixture, open, serveEachTest } from "./harness.ts";
import type { ChartByTime, JobDetail } from "../src/api/types.ts";
import { gpuUse, idle, slowRank, slowSince, spansOf, stepHeatMap } from "./node_answers.ts";

const path = "/jobs/slurm-91734?tab=nodes";
const detail = answers("/job", new URLSearchParams({ job: "slurm-91734" }), false) as JobDetail;

serveEachTest();

const canvas = (page: Page, title: string) => page.locator(`[data-plot="${title}"] canvas[data-ready]`);
async function settled(page: Page): Promise<void> {
  await expect(canvas(page, "CPU")).toBeVisible();
  await expect(page.locator(".timeline canvas[data-ready]")).toBeVisible();
  await expect(page.locator(".waiting")).toHaveCount(0);
}
const axes = (page: Page) =>
  page
    .locator(".plots canvas[data-ready]")
    .evaluateAll((all) =>
      all.map((one) => `${(one as HTMLElement).dataset.xMin} ${(one as HTMLElement).dataset.xMax}`),
    );
// Drags the pointer from one fraction of the plot's width to another.
async function drag(page: Page, title: string, from: number, to: number): Promise<[number, number]> {
  const box = canvas(page, title);
  await box.scrollIntoViewIfNeeded();
  const { x, y, width } = (await box.boundingBox()) as { x: number; y: number; width: number };
  const { left, right, xMin, xMax } = await box.evaluate(
    (one) => ({ ...(one as HTMLElement).dataset }) as Record<string, string>,
  );
  const place = (share: number) => Math.round(x + Number(left) + share * (width - Number(left) - Number(right)));
  await page.mouse.move(place(from), y + 60);
  await page.mouse.down();
  await page.mouse.move(place((from + to) / 2), y + 62);
  await page.mouse.move(place(to), y + 62);
  await page.mouse.up();
  const span = Number(xMax) - Number(xMin);
  return [Number(xMin) + from * span, Number(xMin) + to * span];
}

for (const theme of ["light", "dark"] as const) {
  test(`the Nodes tab is accessible, safe, and without overflow, ${theme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await open(page, `${path}&cell=5:2400-2401`);
    for (const width of [1920, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await settled(page);
      await page.screenshot({ path: `test-results/nodes-${theme}-${width}.png`, fullPage: true });
      await checkFit(page);
    }
    await checkAccess(page);
  });
}

test("a zoom applies to all charts and survives a reload", async ({ page }) => {
  await open(page, path);
  await settled(page);
  const whole = await axes(page);
  const [from, to] = await drag(page, "GPU", 0.25, 0.5);
  await expect(page).toHaveURL(/from=\d+&to=\d+/);
  await expect.poll(async () => new Set(await axes(page)).size).toBe(1);
  const [low, high] = ((await axes(page))[0] as string).split(" ").map(Number) as [number, number];
  // The position must be within two pixels of the pointer.
  expect(Math.abs(low - from)).toBeLessThan(5400_000 / 200);
  expect(Math.abs(high - to)).toBeLessThan(5400_000 / 200);
  const url = new URL(page.url());
  expect([Number(url.searchParams.get("from")) / 1e6, Number(url.searchParams.get("to")) / 1e6]).toEqual([low, high]);
  // The data must be requested for the new range.
  expect(fixture.asked.filter((line) => line.includes(`from=${url.searchParams.get("from")}`)).length).toBeGreaterThan(
    7,
  );
  await expect
    .poll(() => page.locator(".timeline canvas").evaluate((one) => Number((one as HTMLElement).dataset.xMin)))
    .toBe(low);
  await page.reload();
  await settled(page);
  expect(new Set(await axes(page))).toEqual(new Set([`${low} ${high}`]));
  await expect(page.getByRole("link", { name: "Nodes" })).toHaveAttribute("aria-current", "page");
  await expect(page.getByText("Fixed range")).toBeVisible();
  // The key d moves the range by half its length, and w halves the range.
  await page.keyboard.press("d");
  await expect
    .poll(async () => Number(((await axes(page))[0] as string).split(" ")[0]))
    .toBeCloseTo(low + (high - low) / 2, -1);
  await page.keyboard.press("w");
  const length = async () => {
    const [a, b] = ((await axes(page))[0] as string).split(" ").map(Number) as [number, number];
    return b - a;
  };
  await expect.poll(length).toBeCloseTo((high - low) / 2, -1);
  await settled(page);
  await canvas(page, "CPU").dblclick();
  await expect.poll(() => axes(page)).toEqual(whole);
});

test("all charts share the crosshair and show its values", async ({ page }) => {
  await open(page, path);
  await settled(page);
  await expect(page.locator(".hair")).toHaveCount(0);
  const box = (await canvas(page, "CPU").boundingBox()) as { x: number; y: number; width: number };
  const x = Math.round(box.x + box.width / 2);
  await page.mouse.move(x, box.y + 50);
  const charts = await page.locator(".plots canvas[data-ready]").count();
  await expect(page.locator(".plots .hair")).toHaveCount(charts);
  await expect(page.locator(".grid-map .hair, .timeline .hair")).toHaveCount(2);
  const hair = (await page.locator('[data-plot="CPU"] .hair').boundingBox()) as { x: number };
  expect(Math.abs(hair.x - x)).toBeLessThan(2);
  const { left, right, xMin, xMax } = await canvas(page, "GPU").evaluate(
    (one) => ({ ...(one as HTMLElement).dataset }) as Record<string, string>,
  );
  const ms =
    Number(xMin) +
    ((x - box.x - Number(left)) / (box.width - Number(left) - Number(right))) * (Number(xMax) - Number(xMin));
  const mean = [0, 1, 2, 3].reduce((sum, gpu) => sum + gpuUse(0, gpu, ms / 1000 - 1_767_225_600), 0) / 4;
  const shown = Number.parseFloat((await page.locator('[data-plot="GPU"] .legend b').first().textContent()) as string);
  expect(Math.abs(shown - mean * 100)).toBeLessThan(0.6);
});

test("a counter beyond Float32 precision has an exact rate", async ({ page }) => {
  await open(page, path);
  await settled(page);
  const network = page.locator('[data-plot="Network"]');
  await network.getByText("Show as table").click();
  const shown = await network.locator("tbody td.number:not(:first-child)").allTextContents();
  expect(shown.length).toBeGreaterThan(100);
  expect([...new Set(shown)].map((text) => text.replaceAll("\u202f", " "))).toEqual(["953.7 MiB/s"]);
});

test("a counter with one sample shows why it has no rate", async ({ page }) => {
  fixture.override("/chart", {
    status: 200,
    body: (query: URLSearchParams) => {
      const all = answers("/chart", query, false) as ChartByTime;
      const first = <T>(values: T[]) => values.slice(0, 1);
      return query.get("match")?.includes("disk")
        ? {
            ...all,
            series: all.series.map((one) => ({
              ...one,
              times_ns: first(one.times_ns),
              min: first(one.min),
              max: first(one.max),
              last: first(one.last),
            })),
          }
        : all;
    },
  });
  await open(page, path);
  await settled(page);
  await expect(page.locator("[data-without=Disk]")).toContainText("a rate needs two samples");
  await expect(page.locator('[data-plot="Disk"]')).toHaveCount(0);
});

test("charts of an ended job end with its ranks", async ({ page }) => {
  const summary = { ...detail.summary, end_ns: at(5280) };
  fixture.override("/job", {
    status: 200,
    body: { ...detail, state: "ended", end_detail: "died", ended_ns: at(5400), done_ns: at(5280), summary },
  });
  await open(page, path);
  await settled(page);
  for (const one of await axes(page))
    expect(Number(one.split(" ")[1])).toBeCloseTo(Number(BigInt(at(5280)) / 1000n) / 1000, -1);
});

test("a selected interval lists exactly the overlapping spans", async ({ page }) => {
  // In a range of one minute, a pixel is 0.1 s. Each of 8 ranks takes one step per second.
  await open(page, `${path}&from=${at(4000)}&to=${at(4060)}`);
  await settled(page);
  await page.keyboard.down("Shift");
  await drag(page, "CPU", 0.4, 0.44);
  await page.keyboard.up("Shift");
  await expect(page).toHaveURL(/sel=\d+-\d+/);
  const [from, to] = (new URL(page.url()).searchParams.get("sel") as string).split("-").map(BigInt) as [bigint, bigint];
  const expected: string[] = [];
  for (let step = 2000; step < 2200; ++step) {
    for (let rank = 0; rank < 8; ++rank)
      expected.push(
        ...spansOf(step, rank)
          .filter((span) => span.start < to && span.end > from)
          .map((span) => `${rank} ${span.kind} ${span.name} ${span.start}`),
      );
  }
  expect(expected.length).toBeGreaterThan(60);
  await expect(page.locator("tr[data-span]")).toHaveCount(expected.length);
  const listed = await page
    .locator("tr[data-span]")
    .evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset.span as string));
  expect(listed.sort()).toEqual(expected.sort());
  await page.reload();
  await expect(page.locator("tr[data-span]")).toHaveCount(expected.length);
  await page.locator(".ran").getByRole("button", { name: "Close" }).click();
  await expect(page.locator("tr[data-span]")).toHaveCount(0);
});

// Cividis colors, computed independently of the page's code.
const cividis = [
  [0, 32, 77],
  [0, 51, 111],
  [57, 72, 107],
  [87, 93, 109],
  [112, 113, 115],
  [138, 135, 121],
  [166, 157, 117],
  [196, 181, 108],
  [228, 207, 91],
  [255, 234, 70],
] as [number, number, number][];
function valueOfColor([r, g, b]: number[]): number {
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (let i = 0; i <= 900; ++i) {
    const [at, part] = [Math.min(8, Math.floor(i / 100)), i / 100 - Math.min(8, Math.floor(i / 100))];
    const mixed = (cividis[at] as number[]).map(
      (c, k) => c * (1 - part) + ((cividis[at + 1] as number[])[k] as number) * part,
    );
    const far = [r, g, b].reduce(
      (sum, c, k) => (sum as number) + ((c as number) - (mixed[k] as number)) ** 2,
      0,
    ) as number;
    if (far < least) [best, least] = [i / 900, far];
  }
  return best;
}
const pixels = (page: Page, places: [number, number][]) =>
  page
    .locator(".grid-map canvas[data-ready]")
    .first()
    .evaluate((one, wanted) => {
      const box = one as HTMLCanvasElement;
      const c = box.getContext("2d") as CanvasRenderingContext2D;
      const left = Number(box.dataset.left);
      return wanted.map(([row, share]) =>
        Array.from(
          c.getImageData(
            Math.floor(left + share * (box.width - left)),
            Math.floor((row + 0.5) * Number(box.dataset.tall)),
            1,
            1,
          ).data,
        ),
      );
    }, places);

test("heat map cells match their values, and a click charts a row", async ({ page }) => {
  await open(page, path);
  await settled(page);
  const map = page.locator(".grid-map canvas[data-ready]").first();
  expect(await map.evaluate((one) => (one as HTMLElement).dataset.rows)).toBe("24");
  const places: [number, number][] = [
    [0, 0.1],
    [3, 0.4],
    [7, 0.9],
    [8, 0.5],
    [11, 0.25],
    [15, 0.75],
    [23, 0.6],
  ];
  const value = ([row, share]: [number, number]) => {
    const [node, unit, s] = [row < 12 ? 0 : 1, row % 12, share * 5400];
    return unit < 8 ? 1 - idle(node, unit, s) - 0.02 : gpuUse(node, unit - 8, s);
  };
  const seen = (await pixels(page, places)).map(valueOfColor);
  for (const [i, place] of places.entries())
    expect(Math.abs((seen[i] as number) - value(place)), `cell ${place}`).toBeLessThan(0.02);
  const tall = Number(await map.evaluate((one) => (one as HTMLElement).dataset.tall));
  await map.click({ position: { x: 300, y: 3.5 * tall } });
  await expect(page).toHaveURL(/cores=3/);
  await expect(page.locator('[data-plot="CPU"] .legend li').first()).toContainText("gpu-a-01 cpu 3");
  await page.getByRole("textbox", { name: "Cores" }).fill("1-2, 7");
  await page.keyboard.press("Enter");
  await expect(page.locator('[data-plot="CPU"] .legend li')).toHaveCount(6);
});

test("the slow rank comes first, and a click lists its spans", async ({ page }) => {
  await open(page, `${path}&from=${at(1950 + slowSince - 20)}&to=${at(1950 + slowSince + 20)}`);
  await settled(page);
  const table = page.getByRole("table", { name: "Slowest ranks" });
  await expect(table.getByRole("rowheader").first()).toHaveText(`Rank ${slowRank}`);
  const map = page.locator(".grid-map canvas[data-ready]").nth(1);
  const { left, columns } = await map.evaluate(
    (one) => ({ ...(one as HTMLElement).dataset }) as Record<string, string>,
  );
  const width = ((await map.boundingBox()) as { width: number }).width;
  const column = 30;
  await map.click({
    position: { x: Number(left) + ((column + 0.5) / Number(columns)) * (width - Number(left)), y: 5 },
  });
  const step =
    stepHeatMap(new URLSearchParams({ from: at(1950 + slowSince - 20), to: at(1950 + slowSince + 20), width: "500" }))
      .from_step + column;
  await expect(page).toHaveURL(new RegExp(`cell=${slowRank}%3A${step}-${step + 1}`));
  const expected = spansOf(step, slowRank).map((span) => `${slowRank} ${span.kind} ${span.name} ${span.start}`);
  await expect(page.locator("tr[data-span]")).toHaveCount(expected.length);
  expect(
    await page.locator("tr[data-span]").evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset.span)),
  ).toEqual(expected);
  // The chart of durations has one outlier, more than twice the median.
  await expect(page.locator('[data-plot="Step duration"]')).toContainText("1 outlier");
});

test("live charts move; a fixed range does not", async ({ page }) => {
  await open(page, path);
  await settled(page);
  const end = Number(((await axes(page))[0] as string).split(" ")[1]);
  fixture.override("/job", { status: 200, body: { ...detail, last_ns: at(5460) } });
  fixture.publish("samples", { job: "slurm-91734", time_ns: at(5460), event: null });
  await expect.poll(async () => Number(((await axes(page))[0] as string).split(" ")[1])).toBe(end + 60_000);
  // The ranks have been silent for a minute, so their work is drawn as unfinished.
  await expect
    .poll(() => page.locator(".timeline canvas").evaluate((one) => (one as HTMLElement).dataset.open))
    .toBe("8");
  await drag(page, "CPU", 0.5, 0.7);
  await expect(page.getByText("Fixed range")).toBeVisible();
  await settled(page);
  await page.mouse.move(5, 5);
  await expect.poll(async () => new Set(await axes(page)).size).toBe(1);
  const pixels = () => page.evaluate(() => [...document.querySelectorAll("canvas")].map((one) => one.toDataURL()));
  // Charts render one at a time.
  await expect(async () => {
    const before = await pixels();
    await page.waitForTimeout(300);
    expect(await pixels()).toEqual(before);
  }).toPass({ timeout: 8000 });
  const [fixed, drawn, asked] = [await axes(page), await pixels(), fixture.asked.length];
  fixture.override("/job", { status: 200, body: { ...detail, last_ns: at(5520) } });
  fixture.publish("samples", { job: "slurm-91734", time_ns: at(5520), event: null });
  await expect
    .poll(() => fixture.asked.slice(asked).filter((line) => line.startsWith("GET /job")).length)
    .toBeGreaterThan(0);
  await expect
    .poll(() => fixture.asked.slice(asked).filter((line) => line.startsWith("GET /heatmap")).length)
    .toBeGreaterThan(3);
  expect(await axes(page)).toEqual(fixed);
  // A minute of live data must not change a single pixel of any chart, heat map, or timeline.
  await settled(page);
  expect(drawn.length).toBeGreaterThan(8);
  expect(await pixels()).toEqual(drawn);
});

test("the tab handles 1,000 ranks, hostile names, and errors", async ({ page }) => {
  fixture.override("/heatmap/steps", { status: 200, body: (query: URLSearchParams) => stepHeatMap(query, 1000) });
  await open(page, path);
  await settled(page);
  const map = page.locator(".grid-map canvas").nth(1);
  expect(await map.evaluate((one) => (one as HTMLElement).dataset.rows)).toBe("1000");
  // The row of the slow rank must be as tall as its label and have one color.
  const shares = await map.evaluate((one) => {
    const box = one as HTMLCanvasElement;
    const c = box.getContext("2d") as CanvasRenderingContext2D;
    return [1, 7, 12, 15].map((y) => Array.from(c.getImageData(box.width - 5, y, 1, 1).data));
  });
  const [top, middle, bottom, next] = shares.map(valueOfColor) as [number, number, number, number];
  for (const share of [top, middle, bottom]) expect(Math.abs(share - 0.8)).toBeLessThan(0.02);
  expect(next).toBeLessThan(0.02);
  await map.click({ position: { x: 600, y: 12 } });
  await expect(page).toHaveURL(new RegExp(`cell=${slowRank}%3A`));
  await checkFit(page);
  await page.goto(
    `${fixture.address}/jobs/${hostile.id}?tab=nodes&node=${encodeURIComponent("<img src=x onerror=window.hacked=1>")}&cores=${encodeURIComponent("<b>")}`,
  );
  await settled(page);
  expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
  await checkFit(page);
  // Without data, each part must name its source.
  const empty = {
    from_ns: at(0),
    to_ns: at(5400),
    bucket_ns: "1000000000",
    tier: "raw",
    value: "mean",
    columns: 5400,
    rows: [],
  };
  fixture.override("/heatmap", { status: 200, body: empty });
  fixture.override("/heatmap/steps", {
    status: 200,
    body: { ...stepHeatMap(new URLSearchParams()), columns: 0, medians_seconds: [], rows: [] },
  });
  fixture.override("/spans", {
    status: 200,
    body: {
      spans: { source: [], node: [], rank: [], kind: [], name: [], start_ns: [], end_ns: [], step: [], mode: [] },
      next: null,
    },
  });
  fixture.override("/phases", {
    status: 422,
    body: {
      error: { code: "resource_exhausted", message: "rows: too many (20000001); narrow the range", place: "rows" },
    },
  });
  await page.goto(fixture.address + path);
  await expect(page.locator('[data-without="GPU"]')).toContainText("a node with the NVIDIA driver library (NVML)");
  await expect(page.locator('[data-without="CPU"]')).toContainText("Requires a collector on the node");
  await expect(page.getByText("No step or phase ended in this range")).toBeVisible();
  await expect(page.getByText("Record steps in the training script with pitwall.steps(loader)")).toBeVisible();
  await expect(page.getByRole("alert")).toContainText("rows: too many (20000001); narrow the range");
});
