// Browser test harness. It opens pages from the fixture server, collects their errors, and checks every view.
import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page, test } from "@playwright/test";
import { type Fixture, startFixture } from "./fixture.ts";

let opened: string[] = [];

// Server of the current test. Only for files that call serveEachTest().
export let fixture: Fixture;

// Starts a server before each test of this file. After the test, expects no errors on the page and stops the server.
export function serveEachTest(): void {
  test.beforeEach(async () => {
    fixture = await startFixture();
  });
  test.afterEach(async () => {
    checkFaults();
    await fixture.close();
  });
}

// Opens a page and collects console errors, CSP violations, and requests to other origins. Errors from the shutdown of
// a test's server do not count toward the next test.
export async function open(page: Page, path: string, server: Fixture = fixture): Promise<void> {
  const faults: string[] = [];
  opened = faults;
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of (401|404|422|500)/.test(message.text())) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(server.address) && !request.url().startsWith("data:"))
      faults.push(`left its origin: ${request.url()}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  await page.goto(server.address + path);
}

export function checkFaults(): void {
  expect(opened).toEqual([]);
}

export async function checkAccess(page: Page): Promise<void> {
  const found = await new AxeBuilder({ page }).analyze();
  expect(
    found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 120)).join(" | ")}`),
  ).toEqual([]);
}

// Checks that truncated text has a title and that nothing is wider than the page.
export async function checkFit(page: Page): Promise<void> {
  const bad = await page.evaluate(() => {
    const out: string[] = [];
    if (document.documentElement.scrollWidth > document.documentElement.clientWidth)
      out.push(`page is ${document.documentElement.scrollWidth} px wide`);
    for (const element of document.querySelectorAll("main *")) {
      const style = getComputedStyle(element);
      if (
        element.scrollWidth > element.clientWidth + 1 &&
        style.overflowX === "hidden" &&
        element.clientWidth > 1 &&
        !element.closest("[title]") &&
        !element.querySelector("[title]") &&
        !element.closest(".sr")
      )
        out.push(`${element.tagName}.${element.className}: ${element.textContent?.slice(0, 60)}`);
    }
    return out;
  });
  expect(bad).toEqual([]);
}
