// What helps people: large text on a small screen, pages for lost visitors, times in words.

import assert from 'node:assert/strict';
import test from 'node:test';

import { askForCodes, pay, PHONE, WORDS } from './checkout-steps.mjs';
import { accessibilityProblems, FAILS, openBrowser, PAYS, screenshotPath, startServer, STAYS_PENDING } from './harness.mjs';

/** Twice the size of all text, as a person sets it. */
const LARGE = 'html { font-size: 200% !important }';

test('text at 200 % fits a phone', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const page = await browser.newPage({ viewport: PHONE, bypassCSP: true });
  const look = async (name) => {
    await page.addStyleTag({ content: LARGE });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(over <= 0, `${name} is ${over} px wider than the screen`);
    await page.screenshot({ path: screenshotPath(`checkout-large-${name}`), fullPage: true });
  };
  const { checkout_url: url } = await server.initialize({ methods: null });
  await page.goto(`${url}?lang=fr&country=US`);
  await look('choose');
  const { checkout_url: paid } = await server.initialize();
  await page.goto(`${paid}?lang=fr`);
  await page.getByRole('link', { name: WORDS.fr.method }).click();
  await page.waitForURL(/\/details/);
  await look('details');
  await page.getByLabel(WORDS.fr.number).fill('12');
  await page.getByRole('button', { name: WORDS.fr.next }).click();
  await page.locator('#e-msisdn').waitFor();
  await look('details-wrong');
  await page.getByLabel(WORDS.fr.number).fill(PAYS);
  await page.getByRole('button', { name: WORDS.fr.next }).click();
  await page.waitForURL(/\/confirm\?/);
  await look('confirm');
  await page.getByRole('button', { name: WORDS.fr.pay }).click();
  await page.waitForURL(/\/result/);
  await look('success');
  await page.goto(`${paid}/receipt?lang=fr`);
  await look('receipt');

  const { checkout_url: waits } = await server.initialize();
  await pay(page, waits, STAYS_PENDING, 'fr');
  await page.waitForURL(/\/wait/);
  await look('wait');

  const { checkout_url: fails } = await server.initialize();
  await pay(page, fails, FAILS, 'fr');
  for (const name of ['failed-once', 'failed-twice']) {
    const again = page.getByRole('link', { name: 'Réessayer' });
    await again.waitFor();
    await look(name);
    await again.click();
    await page.waitForURL(/\/confirm\?/);
    await page.getByRole('button', { name: WORDS.fr.pay }).click();
  }
  await page.waitForURL(/\/result/);
  await look('failed');

  await askForCodes(server);
  const { checkout_url: asks } = await server.initialize();
  await pay(page, asks, PAYS, 'fr');
  await page.getByLabel('Code', { exact: true }).waitFor();
  await look('code');
});

test('the time left is counted in words', async (t) => {
  const server = await startServer(t);
  const page = await (await openBrowser(t)).newPage({ viewport: PHONE });
  const { checkout_url: url } = await server.initialize();
  await page.goto(`${url}?lang=en`);
  await page.waitForFunction(() => /: \d+ min \d\d s$/.test(document.querySelector('[data-left]').textContent));
});

test('a lost visitor gets a page, in the language of their browser', async (t) => {
  const server = await startServer(t);
  const context = await (await openBrowser(t)).newContext({ viewport: PHONE, locale: 'fr-CI', bypassCSP: true });
  const page = await context.newPage();
  for (const [path, says] of [['/', /Paiements/], ['/no/such/page', /pas de page ici/]]) {
    await page.goto(server.base + path);
    assert.match(await page.textContent('h1'), says);
    assert.deepEqual(await accessibilityProblems(page), []);
  }
});

test('a receipt stays', async (t) => {
  const server = await startServer(t);
  const page = await (await openBrowser(t)).newPage({ viewport: PHONE, bypassCSP: true });
  const { checkout_url: url } = await server.initialize();
  await pay(page, url, PAYS);
  await page.waitForURL(/\/result/);
  await page.goto(`${url}/receipt`);
  assert.equal(await page.locator('[data-leave]').count(), 0);
  assert.match(await page.textContent('main'), /Amount paid/);
  assert.deepEqual(await accessibilityProblems(page), []);
});
