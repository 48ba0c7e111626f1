// API keys, webhooks and actions in the console, without script: a key is rolled, a failed webhook is
// found, explained and resent, a payment is cancelled.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test from 'node:test';

import { axeFindsNothing, pagesFit, printed } from './console-steps.mjs';
import { openBrowser, startServer } from './harness.mjs';

/** A merchant's server that answers with `receiver.status`. */
async function startReceiver(t) {
  const receiver = { status: 500, received: 0 };
  const server = createServer((request, response) => {
    receiver.received += 1;
    request.resume().on('end', () => response.writeHead(receiver.status).end('down for repairs'));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  receiver.url = `http://127.0.0.1:${server.address().port}/hooks`;
  return receiver;
}

/** Status of a request to the API with a key. */
async function statusWith(server, key) {
  const response = await fetch(`${server.base}/v1/payments`, { headers: { authorization: `Bearer ${key}` } });
  return response.status;
}

async function aKeyIsCreated(page, server, app) {
  await page.goto(`${app}/keys`);
  await page.getByRole('link', { name: 'New API key' }).click();
  await page.getByLabel('Name').fill('Shop server');
  await page.getByRole('button', { name: 'Create the key' }).click();
  const key = await page.getByLabel('API key', { exact: true }).inputValue();
  assert.equal(await statusWith(server, key), 200);
  await page.getByRole('link', { name: 'I have stored it' }).click();
  assert.equal((await page.content()).includes(key), false, 'it is shown once');
  return key;
}

async function aKeyIsRolledAndDeleted(page, server, app, old) {
  await page.goto(`${app}/keys`);
  await page.getByRole('link', { name: 'Shop server' }).click();
  await page.getByLabel('The old key stays valid').selectOption({ label: '1 hour' });
  await page.getByRole('button', { name: 'Roll the key' }).click();
  const key = await page.getByLabel('API key', { exact: true }).inputValue();
  assert.deepEqual([await statusWith(server, key), await statusWith(server, old)], [200, 200]);
  await page.goto(`${app}/keys`);
  await page.getByText('Valid until').waitFor();
  await page.getByRole('link', { name: 'Shop server' }).last().click();
  const ending = await page.locator('label code').innerText();
  await page.getByLabel('To delete it').fill('????');
  await page.getByRole('button', { name: 'Delete the key' }).click();
  assert.match(await page.getByRole('alert').innerText(), /It was not deleted/);
  await page.getByLabel('To delete it').fill(ending);
  await page.getByRole('button', { name: 'Delete the key' }).click();
  await page.getByText('The key was deleted.').waitFor();
  const deleted = key.endsWith(ending) ? key : old;
  assert.equal(await statusWith(server, deleted), 401);
}

async function aWebhookIsCreated(page, app, receiver) {
  await page.goto(`${app}/webhooks`);
  await page.getByRole('link', { name: 'New webhook' }).click();
  await page.getByLabel('URL').fill('ftp://shop.example');
  await page.getByRole('button', { name: 'Create the webhook' }).click();
  assert.match(await page.getByRole('alert').innerText(), /Only addresses that begin with/);
  assert.equal(await page.getByLabel('URL').inputValue(), 'ftp://shop.example');
  await page.getByLabel('URL').fill(receiver.url);
  await page.getByRole('button', { name: 'Create the webhook' }).click();
  await page.getByText('The webhook was created.').waitFor();
  await page.getByRole('button', { name: 'Show the secret' }).click();
  assert.match(await page.getByLabel('Signing secret').inputValue(), /^whsec_/);
}

/** Reloads a page until it shows a text. */
async function until(page, text) {
  for (let tries = 0; tries < 40; tries += 1) {
    if (await page.getByText(text).first().isVisible()) return;
    await page.waitForTimeout(250);
    await page.reload();
  }
  assert.fail(`${text} does not appear`);
}

async function aFailedEventIsResent(page, receiver, webhook) {
  await page.goto(webhook);
  await page.getByLabel('Event', { exact: true }).selectOption('payment.initiated');
  await page.getByRole('button', { name: 'Create the event' }).click();
  await page.getByText('The event was created.').waitFor();
  await page.goto(webhook);
  await until(page, 'Waits for its next try');
  await page.getByRole('link', { name: 'payment.initiated' }).first().click();
  await page.getByText('Your server answered with status 500').waitFor();
  await page.getByText('Request and response').click();
  await page.getByText('down for repairs').waitFor();
  receiver.status = 200;
  await page.getByRole('button', { name: 'Resend' }).click();
  await page.getByText('The event is sent again now.').waitFor();
  await until(page, 'Your server answered with status 200');
  const delivery = page.url().split('?')[0];
  await page.getByRole('link', { name: receiver.url }).click();
  await page.getByText('Delivered', { exact: true }).waitFor();
  return delivery;
}

async function aPaymentIsCancelled(page, app, payment) {
  await page.goto(`${app}/payments/${payment.id}`);
  await page.getByRole('button', { name: 'Cancel the payment' }).click();
  await page.getByText('It was stopped.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Cancel the payment' }).count(), 0);
}

/** Path of the page of a person who has accepted an invitation; another invitation stays open. */
async function aPersonIsInvited(page, app) {
  const links = [];
  for (const [email, name] of [['grace@example.com', 'Grace Hopper'], ['invited@example.com', 'Not yet here']]) {
    await page.goto(`${app}/team/new`);
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByRole('radio', { name: /^Support/ }).check();
    await page.getByRole('button', { name: 'Invite a person' }).click();
    links.push(await page.getByLabel('Invitation link').inputValue());
  }
  const other = await page.context().browser().newContext({ javaScriptEnabled: false, locale: 'en' });
  const invited = await other.newPage();
  await invited.goto(links[0]);
  await invited.getByLabel('New password').fill('violet teapots hum softly');
  await invited.getByRole('button', { name: 'Save' }).click();
  await invited.getByRole('heading', { name: 'Sign in' }).waitFor();
  await other.close();
  await page.goto(`${app}/team`);
  return page.getByRole('link', { name: 'Grace Hopper' }).getAttribute('href');
}

async function settingsAreSaved(page, server, app) {
  await page.goto(`${app}/settings`);
  await page.getByLabel('Accent colour').fill('#ffcc00');
  await page.getByLabel('E-mail address for customers').fill('help@shop.example');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('Correct the marked fields.').waitFor();
  const problem = await page.locator('.error').innerText();
  const colour = problem.match(/Use (#[0-9a-f]{6})/)[1];
  assert.equal(await page.getByLabel('E-mail address for customers').inputValue(), 'help@shop.example');
  await page.getByLabel('Accent colour').fill(colour);
  await page.getByRole('button', { name: 'Show preview' }).click();
  await page.locator('.preview').getByText('help@shop.example').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The settings are saved.').waitFor();
  const payment = await server.initialize({ description: 'In our colour' });
  const checkout = await (await fetch(payment.checkout_url)).text();
  assert.ok(checkout.includes(`--accent:${colour};`) && checkout.includes('mailto:help@shop.example'));
}

test('developers in the console', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const receiver = await startReceiver(t);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en', bypassCSP: true });
  const page = await context.newPage();
  await page.goto(printed(server, 'owner'));
  const app = `${server.base}/console/apps/${server.dev.app_id}/sandbox`;

  let key;
  await t.test('a key is created and shown once', async () => {
    key = await aKeyIsCreated(page, server, app);
  });
  await t.test('a key is rolled and deleted', () => aKeyIsRolledAndDeleted(page, server, app, key));
  await t.test('a webhook is created, its secret is shown', () => aWebhookIsCreated(page, app, receiver));
  const webhook = page.url().split('?')[0];
  let delivery;
  await t.test('a failed event is found, explained and resent', async () => {
    delivery = await aFailedEventIsResent(page, receiver, webhook);
  });
  const waiting = await server.initialize({ description: 'Waits' });
  const payment = await server.initialize({ description: 'Never paid' });
  await t.test('a payment is cancelled', () => aPaymentIsCancelled(page, app, payment));
  await t.test('settings are previewed and saved', () => settingsAreSaved(page, server, app));
  await page.goto(`${app}/keys`);
  const one = await page.locator('a.open').first().getAttribute('href');
  const all = {
    keys: `${app}/keys`,
    'keys-live': `${app.replace('sandbox', 'live')}/keys`,
    'key-new': `${app}/keys/new`,
    key: `${server.base}${one}`,
    webhooks: `${app}/webhooks`,
    'webhook-new': `${app}/webhooks/new`,
    webhook,
    delivery,
    confirm: `${server.base}/console/confirm`,
    actions: `${app}/payments/${waiting.id}`,
    search: `${app}/payments?q=ada%40example.com`,
    'search-none': `${app}/payments?q=nothing+like+this`,
    settings: `${app}/settings`,
    team: `${app}/team`,
    'team-new': `${app}/team/new`,
    'team-member': `${server.base}${await aPersonIsInvited(page, app)}`,
  };
  await t.test('pages fit, in both languages', () => pagesFit(page, all));
  await t.test('axe finds nothing', () => axeFindsNothing(browser, context, all));
});
