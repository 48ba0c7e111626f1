// Steps of the console's tests: sign-in, and each page in every size, scheme and language.

import assert from 'node:assert/strict';

import { accessibilityProblems, screenshotPath } from './harness.mjs';

export const SIZES = { phone: { width: 360, height: 740 }, desktop: { width: 1440, height: 900 } };
const SCHEMES = ['light', 'dark'];

/** A sign-in link that the server printed at its start. */
export const printed = (server, who) => server.log().match(new RegExp(`console \\(${who}\\)\\s+(\\S+)`))[1];

/** Address of a page that is then shown in a language. */
const inLanguage = (url, lang) => `${url}${url.includes('?') ? '&' : '?'}lang=${lang}`;

/** Calls `look` with each page at each size, in light and dark. */
async function inEveryForm(page, all, look) {
  for (const [size, viewport] of Object.entries(SIZES)) {
    for (const colorScheme of SCHEMES) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      for (const [name, url] of Object.entries(all)) await look(name, url, `${size}-${colorScheme}`);
    }
  }
}

export async function pagesFit(page, all) {
  for (const lang of ['en', 'fr']) {
    await inEveryForm(page, all, async (name, url, form) => {
      await page.goto(inLanguage(url, lang));
      const path = screenshotPath(`console-${name}-${form}-${lang}`);
      await page.screenshot({ path, fullPage: true });
      const html = page.locator('html');
      const wide = await html.evaluate((root) => root.scrollWidth - root.clientWidth);
      assert.equal(wide, 0, `${name} ${form} ${lang} is ${wide} px too wide`);
    });
  }
}

export async function axeFindsNothing(browser, context, all) {
  const storageState = await context.storageState();
  const scripted = await browser.newContext({ locale: 'en', bypassCSP: true, storageState });
  const page = await scripted.newPage();
  await inEveryForm(page, all, async (name, url, form) => {
    await page.goto(inLanguage(url, 'en'));
    assert.deepEqual(await accessibilityProblems(page), [], `${name} ${form}`);
  });
  await scripted.close();
}
