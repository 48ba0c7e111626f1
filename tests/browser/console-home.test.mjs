// The home page of an app and the export of a list, without script: figures, charts with their tables, what
// needs attention; every size, scheme and language.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import test from 'node:test';

import { axeFindsNothing, pagesFit, printed } from './console-steps.mjs';
import { eventually, openBrowser, startServer } from './harness.mjs';

/** Creates sandbox transactions that end with these events. */
async function trigger(server, events) {
  const path = `/operator/v1/apps/${server.dev.app_id}/trigger`;
  for (const event of events) await server.operator('POST', path, { event });
}

/** Adds a webhook whose receiver is broken. */
async function addBrokenWebhook(t, server) {
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(500).end());
  });
  await new Promise((done) => receiver.listen(0, '127.0.0.1', done));
  t.after(() => receiver.close());
  const url = `http://127.0.0.1:${receiver.address().port}/hooks`;
  await server.operator('POST', `/operator/v1/apps/${server.dev.app_id}/webhooks`, { url });
  return url;
}

async function aNewAppIsToldWhatToDoFirst(page, server, app) {
  await page.goto(`${server.base}/console/`);
  await page.getByRole('row').nth(1).getByRole('link').first().click();
  assert.match(page.url(), /\/sandbox\/home$/, 'live has no transaction yet');
  await page.goto(`${app}/home`);
  await page.getByText('Create an API key').waitFor();
  await page.getByRole('link', { name: 'New API key' }).click();
  await page.getByRole('heading', { name: 'New API key' }).waitFor();
}

async function figuresAgree(page, app) {
  await page.goto(`${app}/home?days=1`);
  const kpis = await page.locator('.kpis').innerText();
  assert.match(kpis, /Success rate\s+75%/);
  assert.match(kpis, /Payments\s+5\s+3 succeeded/);
  const chart = page.getByRole('img', { name: /3 succeeded, 1 failed, 0 cancelled, 1 in progress/ });
  assert.equal(await chart.count(), 1);
  await page.getByText('Show as a table').first().click();
  const cells = await page.locator('.figures').first().locator('tbody tr td:first-of-type').allInnerTexts();
  assert.equal(cells.map(Number).reduce((sum, one) => sum + one, 0), 5);
  await page.getByRole('link', { name: '7 days' }).click();
  assert.match(page.url(), /days=7/);
  assert.match(await page.locator('.kpis').innerText(), /Success rate\s+75%/);
  await page.getByRole('navigation', { name: 'Kind' }).getByRole('link', { name: 'Payouts' }).click();
  assert.match(await page.locator('.kpis').innerText(), /Payouts\s+1/);
}

async function aListIsExported(page, app) {
  await page.goto(`${app}/payments?status=success`);
  await page.getByText('Export as CSV').click();
  await page.getByRole('checkbox', { name: 'metadata' }).uncheck();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  const file = await download;
  assert.equal(file.suggestedFilename(), 'payments.csv');
  const lines = (await readFile(await file.path(), 'utf8')).trim().split('\r\n');
  assert.equal(lines.length, 4);
  assert.match(lines[0], /^id,status,amount,currency,/);
  assert.doesNotMatch(lines[0], /metadata/);
  for (const line of lines.slice(1)) assert.match(line, /^py_[0-9a-z]+,success,[0-9.]+,[A-Z]{3},/);
}

test('the home page of an app', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en', bypassCSP: true });
  const page = await context.newPage();
  const app = `${server.base}/console/apps/${server.dev.app_id}/sandbox`;
  await page.goto(printed(server, 'owner'));

  await t.test('a new app is told what to do first', () => aNewAppIsToldWhatToDoFirst(page, server, app));
  await pagesFit(page, { 'home-empty': `${app}/home` });
  await page.goto(`${app}/home?lang=en`);
  const url = await addBrokenWebhook(t, server);
  const payments = ['payment.success', 'payment.success', 'payment.success', 'payment.failed'];
  await trigger(server, [...payments, 'payout.success']);
  await server.initialize({ amount: 1485 });
  await t.test('the figures agree', () => figuresAgree(page, app));
  await t.test('a webhook that fails needs attention', async () => {
    await eventually('the webhook is listed', async () => {
      await page.goto(`${app}/home`);
      return page.getByText(`events have not reached ${url}`).isVisible();
    });
    await page.getByRole('link', { name: 'A webhook is failing' }).click();
    await page.getByRole('heading', { name: url }).waitFor();
  });
  await t.test('a list is exported with the chosen columns', () => aListIsExported(page, app));
  const all = { home: `${app}/home`, 'home-today': `${app}/home?days=1`, 'home-payouts': `${app}/home?kind=payout` };
  await t.test('pages fit, in both languages', () => pagesFit(page, all));
  await t.test('axe finds nothing', () => axeFindsNothing(browser, context, { ...all, list: `${app}/payments` }));
});
