// Pages for operators, as they use them without script: the dashboard, a gateway that is drained and
// restored, an upload, a connection, routing rules, a new account, a resolution by two people, and each
// page in every size, scheme and language.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import test from 'node:test';

import { pay } from './checkout-steps.mjs';
import { axeFindsNothing, pagesFit, printed } from './console-steps.mjs';
import { eventually, openBrowser, PAYS, stagedGateways, startServer, STAYS_PENDING } from './harness.mjs';

/** Every page by name. */
function pages(at, gateway, app) {
  return {
    installation: at,
    gateways: `${at}/gateways`,
    gateway,
    cases: `${at}/cases`,
    accounts: `${at}/accounts`,
    rates: `${at}/rates`,
    'installation-users': `${at}/users`,
    'installation-invite': `${at}/users/new`,
    'installation-audit': `${at}/audit`,
    system: `${at}/system`,
    'gateway-upload': `${at}/gateway-upload`,
    approvals: `${at}/approvals`,
    connections: `${app}/connections`,
    'connection-choice': `${app}/connections/new`,
    'connection-new': `${app}/connections/new?gateway=switchyard_demo`,
    routing: `${app}/routing`,
    'routing-edit': `${app}/routing/edit`,
    'account-audit': `${app}/audit`,
  };
}

async function aGatewayIsDrainedAndRestored(page, gateway) {
  await page.goto(gateway);
  await page.locator('#drain-why').fill('The provider closes tonight');
  await page.getByRole('button', { name: 'Drain' }).click();
  await page.getByText('The gateway was changed.').waitFor();
  assert.match(await page.locator('.kpis').innerText(), /Drain/);
  await page.getByText('The provider closes tonight').waitFor();
  await page.getByRole('button', { name: 'Restore' }).click();
  await page.getByText('The gateway was changed.').waitFor();
  assert.match(await page.locator('.kpis').innerText(), /In service/);
}

/** A payment that succeeds. Its connection is on the dashboard, with the time that it took. */
async function theDashboardHasTimesToSuccess(server, browser, page, at) {
  const payer = await browser.newContext({ locale: 'en' });
  const made = await server.initialize();
  await pay(await payer.newPage(), made.checkout_url, PAYS);
  await payer.close();
  await eventually('the success is counted', async () => {
    await page.goto(at);
    return /half ≤\s.*, 95% ≤\s/.test(await page.locator('table').innerText());
  });
}

/** A payment that an operator called failed, and that its provider still has. Returns the case. */
async function openCase(server, browser) {
  const payer = await browser.newContext({ locale: 'en' });
  const page = await payer.newPage();
  const made = await server.initialize({ description: 'Two coffees' });
  await pay(page, made.checkout_url, STAYS_PENDING);
  await payer.close();
  const path = `/operator/v1/transactions/${made.id}`;
  await server.operator('POST', `${path}/resolve`, { outcome: 'failed', note: 'The support said so' });
  for (let tries = 0; tries < 20; tries += 1) {
    const { cases } = await server.operator('POST', `${path}/check`, {});
    if (cases.length > 0) return cases[0];
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  throw new Error('the check opened no case');
}

async function aCaseIsClosedWithANote(page, at, opened) {
  await page.goto(`${at}?lang=en`);
  await page.goto(`${at}/cases`);
  await page.getByRole('link', { name: 'The provider has an attempt that counted as not sent' }).click();
  assert.match(page.url(), new RegExp(opened.id));
  await page.getByText('It is not known yet whether money has moved.').waitFor();
  await page.getByLabel('Note').fill('   ');
  await page.getByRole('button', { name: 'Close the case' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Note').fill('Nothing was paid, by the provider’s records');
  await page.getByRole('button', { name: 'Close the case' }).click();
  await page.getByText('The case is closed.').waitFor();
  await page.getByText('Nothing was paid, by the provider’s records').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Close the case' }).count(), 0);
  await page.goto(`${at}/audit?action=handle_cases`);
  assert.match(await page.locator('tbody').innerText(), new RegExp(opened.id));
}

async function anAccountIsCreated(page, at) {
  await page.goto(`${at}/accounts`);
  await page.locator('#account-name').fill('A merchant with a name that does not end before the line does');
  await page.getByRole('button', { name: 'Create an account' }).click();
  await page.getByText('The account was created.').waitFor();
  await page.goto(`${at}/audit?action=manage_accounts`);
  assert.equal(await page.locator('tbody tr').count(), 1);
}

async function aFileIsInspectedBeforeItsConsent(page, at) {
  await page.goto(`${at}/gateway-upload`);
  const file = page.locator('input[type=file]');
  await file.setInputFiles({ name: 'notes.so', mimeType: 'text/plain', buffer: Buffer.from('no library') });
  await page.getByRole('button', { name: 'Inspect the file' }).click();
  assert.match(await page.locator('.error').innerText(), /not a gateway for this machine/);
  const gateways = readdirSync(stagedGateways);
  const demo = gateways.find((name) => name.includes('demo'));
  await file.setInputFiles(join(stagedGateways, demo));
  await page.getByRole('button', { name: 'Inspect the file' }).click();
  await page.getByRole('heading', { name: 'Inspection' }).waitFor();
  await page.getByText('This file is the version in service already.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Consent and install' }).count(), 0);
  return page.url();
}

/** Creates a connection by the form of the test gateway. Returns its page. */
async function aConnectionIsCreated(page, app) {
  await page.goto(`${app}/connections`);
  await page.getByRole('link', { name: 'New connection' }).click();
  await page.getByRole('link', { name: 'Switchyard Test Gateway' }).click();
  await page.getByLabel('Name of the account at the provider').fill('Main account');
  await page.locator('input[type=password]').fill('hunter2');
  for (const box of await page.locator('input[name=methods]').all()) await box.uncheck();
  await page.getByRole('button', { name: 'Check and save' }).click();
  await page.getByText('Choose at least one method.').waitFor();
  assert.equal(await page.getByLabel('Name of the account at the provider').inputValue(), 'Main account');
  assert.equal(await page.locator('input[type=password]').inputValue(), '');
  await page.locator('input[type=password]').fill('hunter2');
  for (const box of await page.locator('input[name=methods]').all()) await box.check();
  await page.getByRole('button', { name: 'Check and save' }).click();
  await page.getByRole('heading', { name: 'The connection was created' }).waitFor();
  await page.getByText('The provider accepted these credentials').waitFor();
  await page.getByRole('link', { name: 'To the connection' }).click();
  const url = page.url();
  assert.ok(!(await page.content()).includes('hunter2'));
  await page.getByLabel('Enabled', { exact: true }).uncheck();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('The connection was saved.').waitFor();
  await page.getByLabel('Enabled', { exact: true }).check();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('button', { name: 'Check and replace' }).click();
  await page.getByText('The provider accepted these credentials').waitFor();
  return url.split('?')[0];
}

async function aRuleIsPreviewedAndSaved(page, app) {
  await page.goto(`${app}/routing/edit`);
  await page.locator('#rule-name').fill('Everything');
  await page.getByRole('button', { name: 'To the preview' }).first().click();
  assert.match(await page.locator('.error').innerText(), /name at least one connection/);
  assert.equal(await page.locator('#rule-name').inputValue(), 'Everything');
  await page.getByLabel('Main account (switchyard_demo)').fill('1');
  await page.getByRole('button', { name: 'To the preview' }).first().click();
  await page.getByRole('heading', { name: 'Preview of the rules' }).waitFor();
  await page.getByText('In this order: Main account (switchyard_demo)').waitFor();
  await page.getByRole('button', { name: 'Save the rules' }).click();
  await page.getByText('The rules were saved and apply to new attempts.').waitFor();
  await page.getByText('1. Everything').waitFor();
}

/** A payment whose provider has not answered yet. Returns its id. */
async function pendingPayment(server, browser) {
  const payer = await browser.newContext({ locale: 'en' });
  const made = await server.initialize({ description: 'Two coffees' });
  await pay(await payer.newPage(), made.checkout_url, STAYS_PENDING);
  await payer.close();
  return made.id;
}

/** Invites a second operator and signs them in. */
async function secondOperator(browser, page, at) {
  await page.goto(`${at}/users/new`);
  await page.locator('#email').fill('grace@example.com');
  await page.locator('#name').fill('Grace Hopper');
  await page.getByRole('radio', { name: 'Operator' }).check();
  await page.getByRole('button', { name: 'Invite a person' }).click();
  const link = await page.locator('#link').inputValue();
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en', bypassCSP: true });
  const other = await context.newPage();
  await other.goto(link);
  await other.getByLabel('New password').fill('violet teapots hum softly');
  await other.getByRole('button', { name: 'Save' }).click();
  await other.getByRole('heading', { name: 'Sign in' }).waitFor();
  await other.getByLabel('E-mail').fill('grace@example.com');
  await other.getByLabel('Password').fill('violet teapots hum softly');
  await other.getByRole('button', { name: 'Continue' }).click();
  await other.getByRole('heading', { name: 'Installation', exact: true }).waitFor();
  return other;
}

async function anOutcomeIsProposed(page, form) {
  await page.goto(form);
  await page.locator('#check-outcome').selectOption('succeeded');
  await page.getByLabel('Provider’s id of the payment').fill('acme-7');
  await page.getByLabel('Evidence').fill('Statement of 28 November, line 4');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Propose this outcome?' }).waitFor();
  await page.getByText('USD 25.00 was received.').waitFor();
  await page.getByRole('button', { name: 'Send for approval (Sandbox)' }).click();
  await page.getByText('The proposal is stored.').waitFor();
  await page.getByText('You made this proposal, so another operator decides about it.').waitFor();
  return page.url().split('?')[0];
}

test('two operators resolve a payment', async (t) => {
  const server = await startServer(t, { SWITCHYARD_OPERATOR__SECOND_PERSON: 'true' });
  const browser = await openBrowser(t);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en', bypassCSP: true });
  const page = await context.newPage();
  const at = `${server.base}/console/installation`;
  await page.goto(printed(server, 'operator'));
  const id = await pendingPayment(server, browser);
  const form = `${at}/transactions/${id}/resolve`;
  const path = `/operator/v1/transactions/${id}/resolve`;
  const token = server.operator('POST', path, { outcome: 'failed', note: 'The support said so' });
  await assert.rejects(token, /second_person_needed/, 'a token is no person');
  const proposal = await anOutcomeIsProposed(page, form);
  const all = { resolve: form, proposal, 'approvals-open': `${at}/approvals` };
  await t.test('pages fit, in both languages', () => pagesFit(page, all));
  await page.goto(`${at}?lang=en`);
  const other = await secondOperator(browser, page, at);
  await t.test('axe finds nothing', () => axeFindsNothing(browser, other.context(), all));
  await other.goto(proposal);
  await pagesFit(other, { 'proposal-second': proposal });
  await other.goto(`${proposal}?lang=en`);
  await other.getByRole('button', { name: 'Approve' }).click();
  await other.getByText('The proposal was approved, and the outcome was recorded.').waitFor();
  assert.equal((await server.retrieve(id)).status, 'success');
});

test('the console of the installation', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en', bypassCSP: true });
  const page = await context.newPage();
  const at = `${server.base}/console/installation`;
  const app = `${server.base}/console/apps/${server.dev.app_id}/sandbox`;

  await page.goto(printed(server, 'operator'));
  await page.getByRole('heading', { name: 'Installation', exact: true }).waitFor();
  await page.goto(`${at}/gateways`);
  await page.locator('tbody a.open').first().click();
  const gateway = page.url();

  await t.test('a gateway is drained and restored', () => aGatewayIsDrainedAndRestored(page, gateway));
  await t.test('the dashboard has times to success', () => theDashboardHasTimesToSuccess(server, browser, page, at));
  await t.test('an account is created and audited', () => anAccountIsCreated(page, at));
  let inspection;
  let connection;
  await t.test('a file is inspected before its consent', async () => {
    inspection = await aFileIsInspectedBeforeItsConsent(page, at);
  });
  await t.test('a connection is created and changed', async () => {
    connection = await aConnectionIsCreated(page, app);
  });
  await t.test('a rule is previewed and saved', () => aRuleIsPreviewedAndSaved(page, app));
  const opened = await openCase(server, browser);
  const all = { ...pages(at, gateway, app), case: `${at}/cases/${opened.id}`, inspection, connection };
  await t.test('pages fit, in both languages', () => pagesFit(page, all));
  await t.test('axe finds nothing', () => axeFindsNothing(browser, context, all));
  await t.test('a case is closed with a note', () => aCaseIsClosedWithANote(page, at, opened));
});

/** A source of rates that answers one of these each time, and the last one from then on. Returns its address. */
async function rateFeed(t, answers) {
  const feed = createServer((_, response) => {
    const rates = answers.length > 1 ? answers.shift() : answers[0];
    response.end(`{"base":"EUR","rates":${rates}}`);
  });
  await new Promise((resolve) => feed.listen(0, '127.0.0.1', resolve));
  t.after(() => feed.close());
  return `http://127.0.0.1:${feed.address().port}/`;
}

test('rates that are held and values that are no rates', async (t) => {
  const url = await rateFeed(t, [
    '{"USD":1.08,"XOF":1,"GHS":16.5}',
    '{"USD":1.15,"XOF":1,"GHS":16.5}',
    '{"USD":1.2,"XOF":1,"GHS":0,"KES":null}',
  ]);
  const server = await startServer(t, { SWITCHYARD_EXCHANGE__URL: url });
  const fetched = () => server.operator('POST', '/operator/v1/rates/fetch', {});
  await eventually('both were held', async () => (await fetched()).unusable === 2);
  const browser = await openBrowser(t);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en', bypassCSP: true });
  const page = await context.newPage();
  await page.goto(printed(server, 'operator'));
  const all = { 'rates-held': `${server.base}/console/installation/rates` };
  await page.goto(`${all['rates-held']}?lang=en`);
  await page.getByRole('heading', { name: '1 EUR = 1.2 USD' }).waitFor();
  await page.getByText('Held: since the day (UTC) began it has moved too far.').waitFor();
  const unusable = page.locator('table').first();
  assert.match(await unusable.innerText(), /EUR\/GHS\s+0\s+1 EUR = 16\.5 GHS/);
  assert.match(await unusable.innerText(), /EUR\/KES\s+null\s+–/);
  await t.test('pages fit, in both languages', () => pagesFit(page, all));
  await t.test('axe finds nothing', () => axeFindsNothing(browser, context, all));
  await page.goto(`${all['rates-held']}?lang=en`);
  const held = page.locator('section', { hasText: '1 EUR = 1.2 USD' }).last();
  await held.getByRole('button', { name: 'Accept this rate' }).click();
  await page.getByText('1 EUR = 1.2 USD').waitFor();
  assert.equal(await page.getByText('since the day (UTC) began').count(), 0);
});
