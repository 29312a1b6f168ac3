// Tests for the Rules, What differs, and Actions tabs, for time travel, and for the report link.
import { expect, test } from "@playwright/test";
import { whatIf } from "./answers.ts";
import { straggler } from "./issue_answers.ts";
import { at, base } from "./job_answers.ts";
import { checkAccess, fixture, open, serveEachTest } from "./harness.ts";

serveEachTest();

const job = `/jobs/${base.id}`;

for (const theme of ["light", "dark"] as const) {
  test(`rules, what differs, and actions are accessible, safe, and without overflow, ${theme}`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width: 1280, height: 900 });
    await open(page, `${job}?tab=rules`);
    for (const [tab, ready] of [
      ["Rules", ".rulelist details"],
      ["What differs", "[data-field=what-if]"],
      ["Actions", "text=all_reduce"],
    ] as const) {
      await page.getByRole("navigation", { name: "Job tabs" }).getByRole("link", { name: tab, exact: true }).click();
      await expect(page.locator(ready).first()).toBeVisible();
      await expect(page.locator(".waiting")).toHaveCount(0);
      for (const one of await page.locator(".rulelist summary").all()) await one.click();
      await page.screenshot({ path: `test-results/${tab.replaceAll(" ", "-")}-${theme}.png`, fullPage: true });
      await checkAccess(page);
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth),
      ).toBe(true);
      // The fixture has markup in definitions, labels, and a node name.
      expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined();
      expect(await page.locator("main img, main script").count()).toBe(0);
    }
  });
}

test("the Rules tab lists active rules first, with parameters and suggestions", async ({ page }) => {
  await open(page, `${job}?tab=rules`);
  const rules = page.locator(".rulelist details");
  await expect(rules).toHaveCount(8);
  await expect(rules.first()).toHaveAttribute("data-rule", "gpu/clocks/ThermalSlowdown");
  const straggler = page.locator("[data-rule='training/stragglers/StragglerRank']");
  await straggler.locator("summary").click();
  await expect(straggler.getByRole("row", { name: "ratio 1.5" })).toBeVisible(); // the default
  await expect(straggler.locator("[data-field=used-ratio]")).toHaveText("1.2"); // as in the latest issue
  const xid = page.locator("[data-rule='gpu/xid/XidFatal']");
  await xid.locator("summary").click();
  await expect(xid).toContainText("Missing input: no series of hw_errors_total. Run the collector on the job's nodes");
  await page.getByLabel("Filter").fill("nodata");
  await expect(rules).toHaveCount(3); // one of them was removed without data
  expect(page.url()).toContain("rule=nodata");
});

test("the What differs tab compares the suspect over its issue's interval", async ({ page }) => {
  await open(page, `${job}?tab=differs`);
  await expect(page.locator("tbody tr")).toHaveCount(2);
  const asked = fixture.asked.find((one) => one.startsWith("GET /differs")) as string;
  const query = new URLSearchParams(asked.split("?")[1]);
  expect(query.get("match")).toBe('{rank="5"}');
  expect(query.get("from")).toBe(at(4240, 123n));
  await expect(page.locator("[data-field=what-if]")).toHaveAttribute("data-share", String(whatIf.saved_share));
  await page.getByLabel("Scope").selectOption("all");
  await expect
    .poll(() => fixture.asked.some((one) => one.startsWith("GET /differs") && !one.includes("match")))
    .toBe(true);
});

test("the issue and the Actions tab list delivered and failed notifications", async ({ page }) => {
  await open(page, `${job}?issue=${straggler.id}`);
  const body = page.locator(`#issue-${straggler.id} .done`);
  await expect(body).toContainText("notified slack ml-oncall (found)");
  await expect(body).toContainText("could not notify webhook pager (found): HTTP 404");
  await open(page, `${job}?tab=actions`);
  await expect(page.locator("[data-notification=ml-oncall]")).toContainText("✓ Delivered");
  await expect(page.locator("[data-notification=pager]")).toContainText("✕ Failed: HTTP 404");
  await expect(page.locator("[data-notification=pager]")).toContainText(
    "StragglerRank: rank 5, node gpu-a-02 and 1 more",
  );
  await page.locator("[data-notification=pager] a").click();
  await expect(page).toHaveURL(new RegExp(`issue=${straggler.id}`));
  await expect(body).toBeVisible();
});

test("a capture requires the typed job ID", async ({ page }) => {
  await fixture.override("/session", { status: 200, body: { role: "act", can_change: true, expires_ns: null } });
  await open(page, `${job}?tab=actions`);
  const button = page.getByRole("button", { name: "Capture stacks" });
  await expect(button).toBeDisabled();
  const form = page.getByRole("form", { name: "Capture stacks" });
  await form.getByLabel("Type the job ID to confirm").fill(base.id);
  await button.click();
  await expect(form.getByRole("status")).toHaveAttribute("title", "Request request-2");
  expect(fixture.asked).toContain(`POST /job/capture?job=${base.id}`);
});

test("a stop requires a reason, the typed job ID, and the role act", async ({ page }) => {
  await open(page, `${job}?tab=actions`);
  const form = page.getByRole("form", { name: "Stop job" });
  const button = form.getByRole("button");
  await form.getByLabel("Reason").fill("it diverges");
  await form.getByLabel("Type the job ID to confirm").fill(base.id.slice(0, 5));
  await expect(button).toBeDisabled();
  await form.getByLabel("Type the job ID to confirm").fill(base.id);
  await expect(form.getByLabel("Action token")).toBeVisible(); // the session has only the role view
  await fixture.override("/session", { status: 200, body: { role: "act", can_change: true, expires_ns: null } });
  await page.reload();
  await expect(form.getByLabel("Action token")).toHaveCount(0);
  await form.getByLabel("Type the job ID to confirm").fill(base.id);
  await button.click(); // without a reason, the browser blocks the form
  expect(fixture.asked.some((one) => one.startsWith("POST /job/stop"))).toBe(false);
  await form.getByLabel("Reason").fill("it diverges");
  await button.click();
  await expect(form.getByRole("status")).toHaveAttribute("title", "Request request-3");
  expect(fixture.asked).toContain(`POST /job/stop?job=${base.id}&reason=it+diverges`);
});

test("a mistyped action token keeps the form and its values", async ({ page }) => {
  await open(page, `${job}?tab=actions`);
  const form = page.getByRole("form", { name: "Stop job" });
  await form.getByLabel("Reason").fill("it diverges");
  await form.getByLabel("Type the job ID to confirm").fill(base.id);
  await form.getByLabel("Action token").fill("wrong");
  await form.getByRole("button").click();
  await expect(form.getByRole("status")).toHaveText("token: unknown; give the token that the server was started with");
  await expect(form.getByLabel("Reason")).toHaveValue("it diverges");
  await expect(form.getByLabel("Action token")).toHaveValue("");
});

test("a server without an action token shows no forms and states the reason", async ({ page }) => {
  await fixture.override("/session", { status: 200, body: { role: "view", can_change: false, expires_ns: null } });
  await open(page, `${job}?tab=actions`);
  await expect(page.getByText("Stop job: disabled on this server.")).toContainText("http.act_token_file");
  await expect(page.getByRole("form", { name: "Stop job" })).toHaveCount(0);
  await expect(page.getByRole("form", { name: "Capture stacks" })).toHaveCount(0);
});

test("a sampling interval requires a reason and the typed job ID", async ({ page }) => {
  await fixture.override("/session", { status: 200, body: { role: "act", can_change: true, expires_ns: null } });
  await open(page, `${job}?tab=actions`);
  await expect(page.locator("section.panel", { hasText: "Sampling" })).toContainText("current interval: 500\u202fms");
  const form = page.getByRole("form", { name: "Change interval" });
  await expect(form.getByRole("combobox")).toHaveValue("500ms");
  await form.getByRole("combobox").selectOption("5s");
  await form.getByLabel("Reason").fill("look closer");
  await expect(form.getByRole("button")).toBeDisabled();
  await form.getByLabel("Type the job ID to confirm").fill(base.id);
  await form.getByRole("button").click();
  await expect(form.getByRole("status")).toHaveAttribute("title", "Request request-4");
  expect(fixture.asked).toContain(`POST /job/interval?job=${base.id}&interval=5s&reason=look+closer`);
});

// Events for a change to StragglerRank's ratio: requested, refused, done.
const changes = (["requested", "refused", "done"] as const).map((step, i) => ({
  id: `change-${step}`,
  type: `io.pitwall.action.${step}`,
  time: `2026-01-01T01:00:0${i}Z`,
  data: {
    action: "parameter",
    mode: "live",
    rule: "request/parameter",
    principal: "act",
    why: step === "refused" ? "job: not found" : "it is slower by design",
    parameter: { rule: straggler.rule, name: "ratio", value: 1.8, ...(step === "requested" ? {} : { before: 1.5 }) },
    ...(step === "done" ? { effect: "in force" } : {}),
  },
}));

test("a parameter is set from rule and issue and shows its results", async ({ page }) => {
  await fixture.override("/session", { status: 200, body: { role: "act", can_change: true, expires_ns: null } });
  await open(page, `${job}?tab=rules`);
  const rule = page.locator(`[data-rule='${straggler.rule}']`);
  await rule.locator("summary").first().click();
  await expect(rule.locator("[data-field=now-ratio]")).toHaveText("1.5");
  await expect(rule.locator("[data-field=now-z]")).toHaveText("4 (overrides file)");
  await expect(rule.locator("[data-set]")).toHaveCount(0);
  await rule.getByRole("button", { name: "Set value for this job" }).click();
  const form = rule.getByRole("form", { name: "Apply" });
  await expect(form.getByLabel("New value")).toHaveAttribute("placeholder", "1.5");
  await form.getByLabel("New value").fill("1.8");
  await form.getByLabel("Reason").fill("by design");
  await form.getByLabel("Type the job ID to confirm").fill(base.id.slice(0, 4));
  await expect(form.getByRole("button")).toBeDisabled();
  await form.getByLabel("Type the job ID to confirm").fill(base.id);
  await checkAccess(page);
  await form.getByRole("button").click();
  await expect(form.getByRole("status")).toHaveAttribute("title", "Request request-5");
  const query = `rule=${encodeURIComponent(straggler.rule)}&parameter=ratio&value=1.8&reason=by+design`;
  expect(fixture.asked).toContain(`POST /job/parameter?job=${base.id}&${query}`);
  // Results arrive over the stream.
  await fixture.override("/actions", { status: 200, body: { actions: changes, notifications: [] } });
  fixture.publish("action", { job: base.id });
  await expect(rule.locator("[data-set]")).toHaveCount(3);
  await expect(rule.locator("[data-set=refused]")).toContainText("(job: not found)");
  await expect(rule.locator("[data-set=done]")).toContainText(
    "parameter done by act: ratio 1.5 → 1.8: in force (it is slower by design)",
  );
  // On the issue page, an empty value must reset the parameter.
  await page.goto(`${fixture.address}${job}?issue=${straggler.id}`);
  await page.getByRole("button", { name: "Set value for this job" }).click();
  const here = page.getByRole("form", { name: "Apply" });
  await here.getByLabel("Parameter").selectOption("z");
  await here.getByLabel("Reason").fill("back");
  await here.getByLabel("Type the job ID to confirm").fill(base.id);
  await here.getByRole("button").click();
  await expect(here.getByRole("status")).toHaveAttribute("title", "Request request-5");
  expect(fixture.asked).toContain(
    `POST /job/parameter?job=${base.id}&rule=${encodeURIComponent(straggler.rule)}&parameter=z&value=null&reason=back`,
  );
});

test("time travel sends every request as of that time", async ({ page }) => {
  await open(page, `${job}?at=2026-01-01T00:10:00Z`);
  await expect(page.locator(".past")).toContainText("As of 2026-01-01 00:10:00.");
  await expect(page.locator("[data-rule]").first()).toBeVisible();
  const reads = fixture.asked.filter((one) => one.startsWith("GET ") && one.includes("job="));
  expect(reads.length).toBeGreaterThan(4);
  for (const one of reads) expect(one).toContain("at=2026-01-01T00%3A10%3A00Z");
  const before = fixture.asked.length;
  await page.getByRole("button", { name: "Back to now" }).click();
  await expect(page.locator(".past")).toHaveCount(0);
  await expect
    .poll(() => fixture.asked.slice(before).some((one) => one.startsWith("GET /issues") && !one.includes("at=")))
    .toBe(true);
});

test("the report link contains the displayed time", async ({ page }) => {
  await open(page, `${job}?at=1767226200000000000`);
  await expect(page.getByRole("link", { name: "Report" })).toHaveAttribute(
    "href",
    `/api/pitwall/v1/report?job=${base.id}&format=html&at=1767226200000000000`,
  );
});
