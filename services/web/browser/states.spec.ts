// Tests for the page in each state from states.ts, in both themes and at two widths.
import { expect, test } from "@playwright/test";
import { startFixture } from "./fixture.ts";
import { checkAccess, checkFaults, checkFit, open } from "./harness.ts";
import { states } from "./states.ts";

for (const state of states) {
  for (const theme of ["light", "dark"] as const) {
    test(`${state.name}, ${theme}: shows its texts, is accessible, and has no overflow`, async ({ page }) => {
      const fixture = await startFixture();
      for (const [path, answer] of Object.entries(state.answers)) fixture.override(path, answer);
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await open(page, state.path, fixture);
      for (const width of [1280, 1920]) {
        await page.setViewportSize({ width, height: 900 });
        await expect(page.locator(state.ready).first()).toBeVisible();
        if (!state.waits) await expect(page.locator(".waiting")).toHaveCount(0);
        for (const text of state.says) await expect(page.locator(".page")).toContainText(text);
        if (state.shows)
          await page
            .locator(state.shows)
            .evaluate((element) => scrollTo(0, element.getBoundingClientRect().top + scrollY - 60));
        await page.screenshot({ path: `test-results/states/${state.name}-${theme}-${width}.png` });
        await checkFit(page);
      }
      await checkAccess(page);
      checkFaults();
      await fixture.close();
    });
  }
}
