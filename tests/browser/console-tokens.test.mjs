// API tokens of a user in the console, without script: one is made, shown once, used and ended.

import assert from 'node:assert/strict';
import test from 'node:test';

import { SIZES, axeFindsNothing, pagesFit, printed } from './console-steps.mjs';
import { openBrowser, screenshotPath, startServer } from './harness.mjs';

/** Status of a call of the account API with a token. */
async function statusWith(server, path, token) {
  const response = await fetch(`${server.base}/account/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
  return response.status;
}

async function aTokenIsMade(page, server) {
  await page.goto(`${server.base}/console/account`);
  await page.getByRole('link', { name: 'Manage' }).click();
  await page.getByText('You have no API tokens.').waitFor();
  await page.getByRole('link', { name: 'New API token' }).click();
  await page.getByLabel('Name').fill('Nightly report');
  await page.getByRole('button', { name: 'Create token' }).click();
  await page.getByText('Choose at least one action.').waitFor();
  assert.equal(await page.getByLabel('Name').inputValue(), 'Nightly report', 'nothing typed is lost');
  await page.getByLabel('view_payments').check();
  await page.getByLabel('Valid for').selectOption({ label: '7 days' });
  await page.getByRole('button', { name: 'Create token' }).click();
  const token = await page.getByLabel('Token', { exact: true }).inputValue();
  assert.match(token, /^switchyard_ut_/);
  // The page is shown once: it is looked at without another visit.
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    await page.screenshot({ path: screenshotPath(`console-token-made-${size}`), fullPage: true });
    const wide = await page.locator('html').evaluate((root) => root.scrollWidth - root.clientWidth);
    assert.equal(wide, 0, `the new token at ${size} is ${wide} px too wide`);
  }
  return token;
}

test('a token of a user is made, used within its actions and ended, without script', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en' });
  const page = await context.newPage();
  await page.goto(printed(server, 'owner'));
  const token = await aTokenIsMade(page, server);
  const app = `/apps/${server.dev.app_id}/sandbox`;
  assert.equal(await statusWith(server, `${app}/transactions`, token), 200);
  assert.equal(await statusWith(server, `${app}/keys`, token), 403);
  await page.getByRole('link', { name: 'I have stored it' }).click();
  assert.equal((await page.content()).includes(token), false, 'it is shown once');
  await page.getByText('Nightly report').first().waitFor();
  const all = {
    tokens: `${server.base}/console/account/tokens`,
    'tokens-new': `${server.base}/console/account/tokens/new`,
    account: `${server.base}/console/account`,
  };
  await pagesFit(page, all);
  await axeFindsNothing(browser, context, all);
  await page.goto(`${all.tokens}?lang=en`);
  await page.getByRole('button', { name: 'End token' }).click();
  await page.getByText('The token has ended.').waitFor();
  assert.equal(await statusWith(server, `${app}/transactions`, token), 401);
});
