// Tests for the Training tab, in a real browser against the fixture server.
import { expect, type Page, test } from "@playwright/test";
import { at, jobs } from "./job_answers.ts";
import { checkAccess, checkFit, fixture, open, serveEachTest } from "./harness.ts";
import { confusion, earlier, features, gradient, loss, scores, seriesList } from "./training_answers.ts";

const path = "/jobs/slurm-91734?tab=training";
const before = {
  ...jobs[0],
  id: earlier,
  state: "ended",
  started_ns: at(-90_000),
  first_ns: at(-90_000),
  last_ns: at(-84_600),
  ended_ns: at(-84_600),
  link: `/jobs/${earlier}`,
};

serveEachTest();
test.beforeEach(() => {
  fixture.override("/jobs", { status: 200, body: { jobs: [before, ...jobs], next: null, total: jobs.length + 1 } });
});

const plot = (page: Page, title: string) => page.locator(`[data-plot="${title}"]`);
async function settled(page: Page): Promise<void> {
  await expect(plot(page, "Loss").locator("canvas[data-ready]")).toBeVisible();
  await expect(page.locator(".waiting")).toHaveCount(0);
}
const value = async (page: Page, title: string, line: number) =>
  Number(((await plot(page, title).locator(".legend b").nth(line).textContent()) as string).replace("−", "-"));

for (const theme of ["light", "dark"] as const) {
  test(`the Training tab is accessible, safe, and without overflow, ${theme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await open(page, path);
    for (const width of [1920, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await settled(page);
      await page.screenshot({ path: `test-results/training-${theme}-${width}.png`, fullPage: true });
      await checkFit(page);
    }
    await checkAccess(page);
  });
}

test("charts show train and eval and the last run", async ({ page }) => {
  await open(page, path);
  await settled(page);
  await expect(page.getByRole("link", { name: earlier })).toBeVisible();
  const legend = plot(page, "Loss").locator(".legend li");
  await expect(legend).toHaveText([/^\s*train/, /^\s*eval/, /last run, train/, /last run, eval/]);
  // Latest values of both modes, and of the last run, which was 20% worse.
  expect(await value(page, "Loss", 0)).toBeCloseTo(loss(3440, "train", ""), 2);
  expect(await value(page, "Loss", 1)).toBeCloseTo(loss(3400, "eval", ""), 2);
  expect((await value(page, "Loss", 2)) / (await value(page, "Loss", 0))).toBeCloseTo(1.2, 1);
  await expect(plot(page, "Tokens total")).toContainText("4,096");
  await page.getByRole("button", { name: "Compare with last run" }).click();
  await expect(legend).toHaveCount(2);
  await page.reload();
  await settled(page);
  await expect(legend).toHaveCount(2);
});

test("a zoom by step also zooms the time on all tabs", async ({ page }) => {
  await open(page, path);
  await settled(page);
  const canvas = plot(page, "Loss").locator("canvas");
  const box = (await canvas.boundingBox()) as { x: number; y: number; width: number };
  const { left, right, xMin, xMax } = await canvas.evaluate(
    (one) => ({ ...(one as HTMLElement).dataset }) as Record<string, string>,
  );
  const place = (share: number) =>
    Math.round(box.x + Number(left) + share * (box.width - Number(left) - Number(right)));
  await page.mouse.move(place(0.5), box.y + 60);
  await page.mouse.down();
  await page.mouse.move(place(0.55), box.y + 60);
  await page.mouse.move(place(0.6), box.y + 60);
  await page.mouse.up();
  await expect(page).toHaveURL(/from=\d+&to=\d+/);
  const { searchParams } = new URL(page.url());
  // A step takes one second, and the first step begins at 1950 s. The tolerance is one pixel.
  const step = (share: number) => Number(xMin) + share * (Number(xMax) - Number(xMin));
  const seconds = (name: string) => Number(BigInt(searchParams.get(name) as string) - BigInt(at(0))) / 1e9;
  expect(Math.abs(seconds("from") - 1950 - step(0.5))).toBeLessThan(20);
  expect(Math.abs(seconds("to") - 1950 - step(0.6))).toBeLessThan(20);
  await expect
    .poll(() => canvas.evaluate((one) => Number((one as HTMLElement).dataset.xMin)))
    .toBeGreaterThan(step(0.48));
  await page.getByRole("link", { name: "Nodes" }).click();
  const gpu = page.locator('[data-plot="GPU"] canvas[data-ready]');
  await expect(gpu).toBeVisible();
  expect(await gpu.evaluate((one) => Number((one as HTMLElement).dataset.xMin))).toBeCloseTo(
    Number(searchParams.get("from")) / 1e6,
    0,
  );
});

test("charts by time share a range and update live", async ({ page }) => {
  await open(page, `${path}&x=time`);
  await settled(page);
  const axes = () =>
    page
      .locator(".plots canvas[data-ready]")
      .evaluateAll((all) => [
        ...new Set(all.map((one) => `${(one as HTMLElement).dataset.xMin} ${(one as HTMLElement).dataset.xMax}`)),
      ]);
  expect(await axes()).toHaveLength(1);
  const asked = fixture.asked.length;
  fixture.publish("samples", { job: "slurm-91734", time_ns: at(5401), event: null });
  await expect
    .poll(() => fixture.asked.slice(asked).filter((line) => line.includes("match=train_loss")).length)
    .toBeGreaterThan(0);
});

test("the layer map and the table show the API's statistics", async ({ page }) => {
  await open(page, path);
  await settled(page);
  const map = page.locator(".grid-map canvas[data-ready]");
  expect(
    await map.evaluate((one) => [(one as HTMLElement).dataset.rows, (one as HTMLElement).dataset.columns]),
  ).toEqual(["3", "7"]);
  const { left } = await map.evaluate((one) => ({ ...(one as HTMLElement).dataset }) as Record<string, string>);
  const width = ((await map.boundingBox()) as { width: number }).width;
  for (const [row, column] of [
    [0, 0],
    [1, 3],
    [2, 6],
  ] as const) {
    await map.hover({ position: { x: Number(left) + ((column + 0.5) / 7) * (width - Number(left)), y: 14 * row + 7 } });
    const text = ((await page.locator(".grid-map .readout b").nth(1).textContent()) as string).replace("−", "-");
    expect(Math.abs(Number(text.replace("−", "-")) / gradient(row, column * 500) - 1)).toBeLessThan(0.03);
  }
  await expect(page.getByRole("row", { name: /gradient\/2.weight/ })).toContainText("3,000");
  // No statistic or name may be truncated at 1280 px. The table has thirteen statistics and scrolls.
  const cut = await page
    .locator("section[aria-label='Latest tensor statistics']")
    .locator("th, td, .cut")
    .evaluateAll((all) =>
      all.filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0).map((one) => one.textContent),
    );
  expect(cut).toEqual([]);
});

test("the ROC curve and the residuals match the scores", async ({ page }) => {
  await open(page, path);
  // AUC over all pairs with one class 1 sample and one class 0 sample. A pair counts 1 if class 1 has the higher score,
  // and 0.5 if both are in the same bin.
  const [negative, positive] = scores as [number[], number[]];
  let better = 0;
  for (const [i, p] of positive.entries())
    for (const [k, n] of negative.entries()) better += i > k ? p * n : i === k ? (p * n) / 2 : 0;
  const figure = page.locator("figure[data-auc]");
  await expect(figure.locator("svg")).toBeVisible();
  expect(Number(await figure.getAttribute("data-auc"))).toBeCloseTo(better / (100 * 100), 9);
  await expect(figure).toContainText(`AUC ${(better / 10_000).toFixed(3)}`);
  await expect(page.locator("figure[data-residuals='100'] rect")).toHaveCount(4);
});

test("class charts show the API's numbers and escape hostile names", async ({ page }) => {
  await open(page, path);
  await settled(page);
  await expect(page.locator("[data-feature]")).toHaveCount(3);
  await expect(page.locator("[data-feature]").first()).toContainText("age");
  await page.getByRole("button", { name: "weight", exact: true }).click();
  await expect(page.locator("[data-feature]").first()).toContainText(features[2] as string);
  expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
  for (const [label, row] of confusion.entries())
    await expect(page.locator(`[data-class="${label}"] td`)).toHaveText([...row.map(String), /.*/, /.*/, /.*/]);
  // Class 0: 50 of 54 predictions are correct, and 50 of 54 samples are found.
  await expect(page.locator('[data-class="0"] td').nth(3)).toHaveText("0.926");
  const all = confusion.flat().reduce((a, b) => a + b, 0);
  await expect(page.locator("[data-accuracy]")).toHaveAttribute("data-accuracy", String(135 / all));
  await expect(plot(page, "Correct predictions by class").locator(".legend b").nth(1)).toHaveText("80.0%");
});

test("a scalar with a name of 300 characters fits its panel", async ({ page }) => {
  const list = seriesList();
  const [first] = list.series;
  const name = `train_${"x".repeat(294)}`;
  fixture.override("/series", {
    status: 200,
    body: { ...list, series: [...list.series, { ...first, labels: { ...first?.labels, __name__: name } }] },
  });
  await open(page, path);
  await settled(page);
  await expect(plot(page, `X${"x".repeat(293)}`)).toBeVisible();
  await checkFit(page);
});

test("a job without data shows the call that supplies each part", async ({ page }) => {
  fixture.override("/series", { status: 200, body: { series: [], next: null, total: 0 } });
  fixture.override("/tensors", { status: 200, body: { tensors: [], next: null } });
  fixture.override("/jobs", { status: 200, body: { jobs, next: null, total: jobs.length } });
  await open(page, path);
  for (const call of [
    "pitwall.log(loss=…",
    "pitwall.watch(model",
    "pitwall.xgboost_callback(classification=held_out)",
    "No earlier run with this name",
  ])
    await expect(page.getByText(call).first()).toBeVisible();
  await checkFit(page);
});
