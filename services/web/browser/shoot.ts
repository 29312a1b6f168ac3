// Screenshot tool: `node browser/shoot.ts < requests`. Opens each address in a fresh browser, takes a screenshot of the
// first screen, and prints its visible text. Requests are [{"url", "png", "hide"}] as JSON; responses are [{"url",
// "text"}]. Replaces every occurrence of the job name "hide", which would reveal the answer, with "training". Replaces
// the host name "here" in older recordings with a realistic one.
import { readFileSync } from "node:fs";
import { chromium } from "@playwright/test";

const wanted = JSON.parse(readFileSync(0, "utf8")) as { url: string; png: string; hide: string }[];
const viewport = { width: 1280, height: 800 };
const browser = await chromium.launch({
  executablePath: process.env.PITWALL_BROWSER ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox", "--disable-gpu"],
});
const out: { url: string; text: string }[] = [];
for (const { url, png, hide } of wanted) {
  const context = await browser.newContext({ viewport, colorScheme: "light" });
  const page = await context.newPage();
  if (hide) {
    await page.route(/\/api\/(?!.*\/stream)/, async (route) => {
      const answer = await route.fetch({ url: route.request().url().replace("training", hide) });
      await route.fulfill({
        response: answer,
        body: Buffer.from(
          (await answer.body())
            .toString("latin1")
            .replaceAll(hide, "training")
            .replace(/(["@]|\b(?:of|on|node) )here\b/g, "$1gn07"),
          "latin1",
        ),
      });
    });
  }
  await page.goto(hide ? url.replace(hide, "training") : url);
  await page.locator("[data-incident]").first().waitFor({ timeout: 30_000 });
  await page
    .locator(".evidence canvas[data-ready]")
    .first()
    .waitFor({ timeout: 30_000 })
    .catch(() => undefined); // not every issue has a chart
  await page.waitForFunction(() => !document.querySelector(".waiting, .evidence canvas:not([data-ready])"), undefined, {
    timeout: 30_000,
  });
  await page.screenshot({ path: png });
  const text = await page.evaluate(() => {
    const words: string[] = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const range = document.createRange();
      range.selectNodeContents(node);
      const box = range.getBoundingClientRect();
      if (box.width > 0 && box.height > 0 && box.top >= 0 && box.bottom <= innerHeight && node.textContent?.trim())
        words.push(node.textContent.trim());
    }
    return words.join(" ");
  });
  out.push({ url, text });
  await context.close();
}
await browser.close();
console.log(JSON.stringify(out));
