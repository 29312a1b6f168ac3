// Tests for the job list and the page frame, in a real browser against the fixture server.
import { expect, test } from "@playwright/test";
import { clocks, straggler } from "./issue_answers.ts";
import { at, hostile } from "./job_answers.ts";
import { startFixture } from "./fixture.ts";
import { checkAccess, checkFit, fixture, open, serveEachTest } from "./harness.ts";

serveEachTest();

for (const theme of ["light", "dark"] as const) {
  for (const [name, path] of [
    ["jobs", "/"],
    ["overview", `/jobs/slurm-91734?issue=${clocks.id}`],
    ["overview with values of events", `/jobs/slurm-91734?issue=${straggler.id}`],
  ] as const) {
    test(`${name} is accessible, safe, and without overflow, ${theme}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: theme });
      await open(page, path);
      for (const width of [1920, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        // Each job must have a sparkline of GPU utilization that shows the mean of the API's values.
        if (path === "/")
          await expect(page.locator("tbody tr[data-job] .use")).toHaveText(Array(5).fill(/^8[67]\.\d%$/));
        else await expect(page.locator(".chart canvas[data-ready]")).toBeVisible();
        await expect(page.locator(".waiting")).toHaveCount(0);
        await expect(page.locator("html")).toHaveAttribute("data-theme", theme);
        await page.screenshot({
          path: `test-results/${name.replaceAll(" ", "-")}-${theme}-${width}.png`,
          fullPage: true,
        });
        await checkFit(page);
      }
      await checkAccess(page);
    });
  }
}

test("an incomplete job list is marked as incomplete", async ({ page }) => {
  const missing = ["jobs of peer 1 are missing: no answer within 10 s"];
  fixture.override("/jobs", { status: 200, body: { jobs: [], next: null, total: 0, missing } });
  await open(page, "/");
  await expect(
    page.getByText("Not all jobs are listed. jobs of peer 1 are missing: no answer within 10 s"),
  ).toBeVisible();
  await checkAccess(page);
  fixture.override("/jobs", null);
  fixture.publish("job", { job: "slurm-91734", time_ns: at(5401), event: null });
  await expect(page.locator("tbody tr[data-job]")).toHaveCount(5);
  await expect(page.getByText("Not all jobs")).toHaveCount(0);
});

test("a reload restores the view from the address", async ({ page }) => {
  await open(page, "/");
  // Keys work only after the page has rendered.
  await expect(page.locator("tbody tr[data-job]")).toHaveCount(5);
  await page.keyboard.press("/");
  await page.keyboard.type("llama");
  await expect(page.locator("tbody tr[data-job]")).toHaveCount(1);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Running" }).click();
  await page.getByLabel("Sort by").selectOption("name");
  await page.reload();
  await expect(page.locator("#search")).toHaveValue("llama");
  await expect(page.getByRole("button", { name: "Running" })).toHaveAttribute("aria-pressed", "true");
  await expect(page.locator("tbody tr[data-job]")).toHaveCount(1);
  expect(
    fixture.asked.some(
      (line) => line.includes("name=llama") && line.includes("sort=name") && line.includes("order=asc"),
    ),
  ).toBe(true);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page.locator("h1")).toHaveText("llama-7b-pretrain");
  await page.getByRole("button", { name: "Last hour" }).click();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await expect(page.locator(".body .facts")).toBeVisible();
  await page.reload();
  await expect(page.locator(".body .facts")).toBeVisible();
  await expect(page.getByRole("button", { name: "Last hour" })).toHaveAttribute("aria-pressed", "true");
  // The range must end with the job's newest data, inclusive.
  expect(
    fixture.asked.some(
      (line) => line.startsWith("GET /resources") && line.includes(`from=${at(1800, 1n)}&to=${at(5400, 1n)}`),
    ),
  ).toBe(true);
  await page.keyboard.press("u");
  await expect(page.locator("h1")).toHaveText("Jobs");
});

test("hostile names and labels are escaped", async ({ page }) => {
  await open(page, "/");
  await expect(page.locator(`[data-job=${hostile.id}]`)).toBeVisible();
  await checkFit(page);
  await page.goto(`${fixture.address}/jobs/${hostile.id}`);
  await page.locator("button.issue").click();
  await expect(page.locator(".body .suggestion")).toContainText('<img src=x onerror="window.hacked=1">');
  expect(
    await page.evaluate(() => [
      (window as unknown as { hacked?: number }).hacked,
      document.querySelectorAll("main img, main script").length,
    ]),
  ).toEqual([undefined, 0]);
  await expect(page.locator("main a[href^='javascript:']")).toHaveCount(0);
  await checkFit(page);
});

test("a list of 10,000 jobs renders only visible rows", async ({ page }) => {
  const many = await startFixture({ jobs: 10_000 });
  await open(page, "/", many);
  await expect(page.getByText("10,000 jobs")).toBeVisible();
  expect(await page.locator("tbody tr[data-job]").count()).toBeLessThan(80);
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await expect(page.locator("[data-job=job-09999]")).toBeVisible();
  expect(await page.locator("tbody tr[data-job]").count()).toBeLessThan(80);
  // Rows that were scrolled past must not have sent a request.
  await expect.poll(() => many.asked.filter((line) => line.includes("/chart")).length).toBeLessThan(120);
  await many.close();
});

test("changes arrive live, and tabs share one stream", async ({ page, context }) => {
  await open(page, "/jobs/slurm-91734");
  await expect(page.getByText("● Live")).toBeVisible();
  const tabs = await Promise.all(Array.from({ length: 19 }, () => context.newPage()));
  for (const tab of tabs) {
    await tab.goto(`${fixture.address}/jobs/slurm-91734`);
    await expect(tab.locator("h1")).toHaveText("llama-7b-pretrain");
  }
  expect(fixture.streams.size).toBe(1);
  const asked = () => fixture.asked.filter((line) => line.startsWith("GET /incidents")).length;
  const before = asked();
  fixture.override("/incidents", { status: 200, body: { incidents: [] } });
  await page.bringToFront();
  fixture.publish("issue", { job: "slurm-91734", time_ns: at(5401), event: null });
  await expect(page.locator("[data-incident]")).toHaveCount(0);
  await expect(page.getByText("No issues found so far")).toBeVisible();
  expect(asked()).toBeGreaterThan(before);
  // An event for another job must not reload anything.
  fixture.override("/incidents", null);
  fixture.publish("issue", { job: "other", time_ns: at(5401), event: null });
  fixture.publish("resync", {});
  await expect(page.locator("[data-incident]")).toHaveCount(1);
});

test("a server with a token requires a login", async ({ page }) => {
  const locked = await startFixture({ token: "secret" });
  await open(page, "/jobs/slurm-91734", locked);
  await page.getByLabel("Access token").fill("wrong");
  await page.getByRole("button", { name: "Open" }).click();
  await expect(page.getByRole("alert")).toHaveText("token: unknown; give the token that the server was started with");
  await page.getByLabel("Access token").fill("secret");
  await page.keyboard.press("Enter");
  await expect(page.locator("h1")).toHaveText("llama-7b-pretrain");
  await expect(page.getByText("● Live")).toBeVisible();
  await locked.close();
});

test("an error shows the server's message and does not affect other parts", async ({ page }) => {
  fixture.override("/resources", {
    status: 500,
    body: {
      error: {
        code: "data_loss",
        message: "segment 7: damaged (crc); delete the job or restore it",
        place: "segment 7",
      },
    },
  });
  await open(page, "/jobs/slurm-91734");
  await expect(page.getByRole("alert")).toContainText("segment 7: damaged (crc); delete the job or restore it");
  await expect(page.locator("[data-incident]")).toHaveCount(1);
  fixture.override("/resources", null);
  await page.getByRole("button", { name: "Retry" }).click();
  await expect(page.locator("[aria-label='Resources by node']")).toBeVisible();
  await page.goto(`${fixture.address}/jobs/none`);
  await expect(page.getByRole("alert")).toContainText('job: not found ("none"); list the jobs');
});

test("shortcuts open the list of shortcuts and switch the theme", async ({ page }) => {
  await open(page, "/");
  // Keys work only after the page has rendered.
  await expect(page.locator("tbody tr[data-job]")).toHaveCount(5);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await page.keyboard.press("t");
  await page.keyboard.press("t");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});
