// The pictures of the console in README.md and docs, made from the demonstration data.
// `UPDATE_PICTURES=1 node --test tests/browser/pictures.test.mjs` writes those of docs/images again.

import assert from 'node:assert/strict';
import test from 'node:test';

import { printed } from './console-steps.mjs';
import { openBrowser, picturePath, startServer } from './harness.mjs';

const VIEWPORT = { width: 1280, height: 800 };

/** Goes to an address and takes the picture of what a reader sees first. */
async function picture(page, name, url) {
  await page.goto(url);
  assert.equal(await page.locator('html').evaluate((root) => root.scrollWidth - root.clientWidth), 0, name);
  await page.screenshot({ path: picturePath(name) });
}

async function visitor(browser, link) {
  const context = await browser.newContext({ locale: 'en', viewport: VIEWPORT, colorScheme: 'light' });
  const page = await context.newPage();
  await page.goto(link);
  return page;
}

/** Makes payments now, so that the dashboard has figures of the last half hour. */
async function makePayments(server) {
  const path = `/operator/v1/apps/${server.dev.app_id}/trigger`;
  const events = [...Array(9).fill('payment.success'), 'payment.failed', ...Array(4).fill('payout.success')];
  for (const event of events) await server.operator('POST', path, { event });
}

/** Address of the newest payment that succeeded. */
async function paidPayment(page, app) {
  await page.goto(`${app}/payments?status=success`);
  return new URL(await page.locator('tbody a').first().getAttribute('href'), page.url()).href;
}

test('pictures of the documentation', async (t) => {
  const server = await startServer(t, {}, ['--demo']);
  const browser = await openBrowser(t);
  const app = `${server.base}/console/apps/${server.dev.app_id}/sandbox`;
  const owner = await visitor(browser, printed(server, 'owner'));
  await picture(owner, 'console-home', `${app}/home?days=30`);
  await picture(owner, 'console-payment', await paidPayment(owner, app));
  await makePayments(server);
  const operator = await visitor(browser, printed(server, 'operator'));
  await picture(operator, 'console-dashboard', `${server.base}/console/installation`);
  await picture(operator, 'console-gateways', `${server.base}/console/installation/gateways`);
});
