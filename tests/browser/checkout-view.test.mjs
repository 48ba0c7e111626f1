// Every step as it is displayed, on a phone and on a desktop, in both languages and both colour
// schemes: no obstacle for assistive technology, nothing wider than the screen, nothing too small
// to press, and little to load. Pictures are kept in target/screenshots.

import assert from 'node:assert/strict';
import test from 'node:test';

import { complaints, DESKTOP, PHONE, WORDS } from './checkout-steps.mjs';
import { accessibilityProblems, FAILS, openBrowser, PAYS, screenshotPath, startServer, STAYS_PENDING } from './harness.mjs';

const FIRST_VIEW_BYTES = 40 * 1024;
const DOCUMENT_BYTES = 14 * 1024;

/** What is pressed or typed in, and is smaller than a fingertip. Links inside sentences are exempt, as in WCAG 2.5.8. */
function smallTargets() {
  const things = document.querySelectorAll('button, select, input:not([type=hidden]), a.first, a.second, a.method, .languages a');
  const seen = [...things].map((thing) => ({ html: thing.outerHTML.slice(0, 80), box: thing.getBoundingClientRect() }));
  return seen.filter(({ box }) => box.width > 0 && (box.height < 44 || box.width < 44)).map(({ html }) => html);
}

async function look(page, name) {
  assert.deepEqual(await accessibilityProblems(page), [], name);
  assert.deepEqual(await page.evaluate(smallTargets), [], name);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${name} is ${overflow} px wider than the screen`);
  await page.screenshot({ path: screenshotPath(`checkout-${name}`), fullPage: true });
}

/** Every step of the way, looked at. */
async function walk(page, server, lang, name) {
  const words = WORDS[lang];
  const finish = async (number, step, address) => {
    const { checkout_url: url } = await server.initialize({ methods: null, description: 'Two blue teapots, gift-wrapped' });
    await page.goto(`${url}?lang=${lang}&country=US`);
    await look(page, `1-choose-${name}`);
    await page.getByRole('link', { name: words.method }).click();
    await look(page, `2-details-${name}`);
    await page.getByLabel(words.number).fill('12');
    await page.getByRole('button', { name: words.next }).click();
    await page.locator('#e-msisdn').waitFor();
    await look(page, `3-details-wrong-${name}`);
    await page.getByLabel(words.number).fill(number);
    await page.getByRole('button', { name: words.next }).click();
    await page.waitForURL(/\/confirm\?/);
    await look(page, `4-confirm-${name}`);
    await page.getByRole('button', { name: words.pay }).click();
    await page.waitForURL(address);
    await look(page, `5-${step}-${name}`);
  };
  await finish(PAYS, 'success', /\/result/);
  await finish(FAILS, 'failed', /\/checkout\/[a-z0-9_]+(\?lang=..)?$/);
  await finish(STAYS_PENDING, 'wait', /\/wait/);
  const { checkout_url: url } = await server.initialize();
  await page.goto(`${url}/cancel?lang=${lang}`);
  await look(page, `6-cancel-${name}`);
  await page.goto(`${url.slice(0, -3)}zzz?lang=${lang}`);
  await look(page, `7-missing-${name}`);
}

test('every step, for every kind of visitor', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const visitors = [
    ['phone-fr', 'fr', { viewport: PHONE }],
    ['phone-en-dark', 'en', { viewport: PHONE, colorScheme: 'dark' }],
    ['desktop-en', 'en', { viewport: DESKTOP }],
    ['desktop-fr', 'fr', { viewport: DESKTOP }],
    ['narrow-fr', 'fr', { viewport: { width: 320, height: 640 }, reducedMotion: 'reduce' }],
  ];
  for (const [name, lang, options] of visitors) {
    await t.test(name, async () => {
      const context = await browser.newContext({ ...options, bypassCSP: true });
      await walk(await context.newPage(), server, lang, name);
      await context.close();
    });
  }
});

test('the first view is light, and asks nobody else for anything', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const page = await browser.newPage({ viewport: PHONE });
  const heard = complaints(page);
  const network = await page.context().newCDPSession(page);
  await network.send('Network.enable');
  const [asked, loaded] = [[], []];
  network.on('Network.requestWillBeSent', ({ request }) => request.url.startsWith('data:') || asked.push(request.url));
  network.on('Network.loadingFinished', ({ encodedDataLength }) => loaded.push(encodedDataLength));
  const { checkout_url: url } = await server.initialize({ currency: 'USD', methods: null });
  await page.goto(url, { waitUntil: 'networkidle' });
  const bytes = loaded.reduce((sum, length) => sum + length, 0);
  assert.ok(asked.length <= 4, `${asked.length} requests: ${asked}`);
  assert.ok(asked.every((address) => address.startsWith(server.base)), `${asked}`);
  assert.ok(bytes <= FIRST_VIEW_BYTES, `${bytes} bytes in all`);
  assert.ok(loaded[0] <= DOCUMENT_BYTES, `the page itself has ${loaded[0]} bytes`);
  assert.deepEqual(heard, [], 'the page breaks none of its own rules');
});

/** Shows the page as Chromium 80 does: flex boxes have no gap, and the rules for browsers without `inset` apply. */
function asInChromium80() {
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const old = rules.filter((rule) => rule instanceof CSSSupportsRule && rule.conditionText === 'not (inset: 0)');
  for (const element of document.querySelectorAll('*')) {
    if (getComputedStyle(element).display.endsWith('flex')) element.style.gap = '0';
  }
  const style = document.createElement('style');
  style.textContent = old.flatMap((rule) => [...rule.cssRules]).map((rule) => rule.cssText).join('\n');
  document.head.append(style);
  return old.length;
}

/** The elements with a text of their own that lie over the badge, and whether all of the badge is on the screen. */
function aroundTheBadge() {
  const badge = document.querySelector('.badge');
  const box = badge.getBoundingClientRect();
  const isOver = (other) => other.left < box.right && other.right > box.left && other.top < box.bottom && other.bottom > box.top;
  const hasText = (one) => [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
  const others = [...document.querySelectorAll('body *')].filter((one) => !badge.contains(one) && !one.contains(badge) && hasText(one));
  const over = others.filter((one) => isOver(one.getBoundingClientRect())).map((one) => one.outerHTML.slice(0, 80));
  return { over, isOnScreen: box.width > 0 && box.left >= 0 && box.right <= innerWidth, text: badge.textContent };
}

test('nothing covers the badge of the sandbox, in an old Chromium either', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  for (const [name, viewport] of [['narrow', { width: 320, height: 640 }], ['phone', PHONE], ['desktop', DESKTOP]]) {
    for (const lang of ['en', 'fr']) {
      const page = await browser.newPage({ viewport, bypassCSP: true });
      const { checkout_url: url } = await server.initialize({ methods: null });
      await page.goto(`${url}?lang=${lang}&country=US`);
      for (const change of [() => 1, asInChromium80]) {
        assert.equal(await page.evaluate(change), 1, 'there are rules for old browsers');
        const { over, isOnScreen, text } = await page.evaluate(aroundTheBadge);
        assert.deepEqual(over, [], `${name} ${lang}`);
        assert.ok(isOnScreen && text.trim(), `${name} ${lang}`);
      }
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${name} ${lang} is ${overflow} px wider than the screen`);
      await page.screenshot({ path: screenshotPath(`checkout-old-${name}-${lang}`), fullPage: true });
      await page.close();
    }
  }
});

test('the keyboard alone is enough', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const page = await browser.newPage();
  const { id, checkout_url: url } = await server.initialize();
  const tabTo = async (wanted) => {
    for (let steps = 0; steps < 30; steps += 1) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate(() => (document.activeElement?.textContent ?? '') + (document.activeElement?.name ?? ''));
      if (wanted.test(focused)) return;
    }
    assert.fail(`the keyboard does not come to ${wanted}`);
  };
  await page.goto(`${url}?lang=en`);
  await tabTo(/Test payment/);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/details/);
  await tabTo(/msisdn/);
  await page.keyboard.type(PAYS);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/confirm/);
  await tabTo(/^Pay /);
  await page.keyboard.press('Space');
  await page.waitForURL(/\/result/);
  assert.equal((await server.retrieve(id)).status, 'success');
});
