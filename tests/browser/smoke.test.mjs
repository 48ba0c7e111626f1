// The whole chain stands: a server, a browser, and a checkout page that opens.

import assert from 'node:assert/strict';
import test from 'node:test';

import { openBrowser, screenshotPath, startServer } from './harness.mjs';

test('a payment opens in a browser, and says what it is for', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const { id, checkout_url: url } = await server.initialize({ description: 'A blue teapot' });
  assert.equal(url.split('/').pop(), id, 'clients take the id from the end of the address');

  const page = await browser.newPage();
  const problems = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(String(error)));
  const answer = await page.goto(url);

  assert.equal(answer.status(), 200);
  assert.match(await page.textContent('body'), /A blue teapot/);
  await page.screenshot({ path: screenshotPath('checkout'), fullPage: true });
  assert.deepEqual(problems, [], 'the page breaks none of its own rules');
});
