// Payouts and routing rules in live that a second person approves, as people do it without script.

import assert from 'node:assert/strict';
import test from 'node:test';

import { axeFindsNothing, pagesFit, printed } from './console-steps.mjs';
import { openBrowser, startServer } from './harness.mjs';

const PASSWORD = 'violet teapots hum softly';
const QUIET = { javaScriptEnabled: false, locale: 'en', bypassCSP: true };

/** Two people order live payouts above XOF 1,000, and change live rules. */
async function askForTwoPeople(server) {
  const app = `/operator/v1/apps/${server.dev.app_id}`;
  const connection = { environment: 'live', gateway: 'switchyard_demo', account_name: 'Main account' };
  await server.operator('POST', `${app}/connections`, connection);
  const secondPerson = { payouts_above: { XOF: '1000', USD: '10.50' }, routing: true };
  await server.operator('PATCH', app, { settings: { second_person: secondPerson } });
}

async function signedInBy(browser, link) {
  const context = await browser.newContext(QUIET);
  const page = await context.newPage();
  await page.goto(link);
  return page;
}

/** Invites a member into the team and signs them in. */
async function member(browser, owner, live, role) {
  const email = `${role.toLowerCase()}@example.com`;
  await owner.goto(`${live}/team/new`);
  await owner.locator('#email').fill(email);
  await owner.locator('#name').fill(`Grace Hopper (${role})`);
  await owner.getByRole('radio', { name: role }).check();
  await owner.getByRole('button', { name: 'Invite a person' }).click();
  return accepted(browser, await owner.locator('#link').inputValue(), email);
}

async function accepted(browser, link, email) {
  const page = await signedInBy(browser, link);
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Apps' }).waitFor();
  return page;
}

/** The owner of another account. */
async function otherOwner(server, browser) {
  const account = await server.operator('POST', '/operator/v1/accounts', { name: 'Globex' });
  const user = { email: 'eve@example.com', name: 'Eve', account: account.id };
  const { url } = await server.operator('POST', '/operator/v1/users', user);
  return accepted(browser, url, user.email);
}

async function fillPayout(page, live, amount) {
  await page.goto(`${live}/payouts/new?method=mtn_bj`);
  await page.getByLabel('Amount').fill(amount);
  await page.locator('[name="recipient.msisdn"]').fill('4149518161');
  await page.locator('[name="customer.first_name"]').fill('Awa');
  await page.locator('[name="customer.last_name"]').fill('Diop');
  await page.locator('[name="customer.email"]').fill('awa@example.com');
  await page.locator('[name="description"]').fill('Wages of May, with a description that does not end before the line does');
  await page.getByRole('button', { name: 'Review' }).click();
  await page.getByRole('heading', { name: 'Review the payout' }).waitFor();
}

/** Orders a payout that needs a second person. Returns the address of its proposal. */
async function aPayoutIsProposed(page, live) {
  await fillPayout(page, live, '1001');
  await page.getByText('Another person has to approve this payout within 72 hours.').waitFor();
  await page.getByRole('button', { name: 'Send for approval' }).click();
  await page.getByText('The proposal is stored. Another person has to approve it.').waitFor();
  await page.getByText('You made this proposal, so another person decides about it.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0);
  return page.url().split('?')[0];
}

/** Sends a decision to an address with the token of the reader's session, as no page offers it. */
async function forcedDecision(page, base, address) {
  await page.goto(`${base}/console/account`);
  const csrf = await page.locator('[name=csrf]').first().inputValue();
  const form = { csrf, do: 'approve', version: '0' };
  const answer = await page.request.post(address, { form, headers: { origin: base }, maxRedirects: 0 });
  return answer.status();
}

async function othersDoNotDecide(server, proposal, { finance, support, stranger }) {
  assert.equal(await forcedDecision(finance, server.base, proposal), 422, 'the proposer');
  await support.goto(proposal);
  await support.getByText('XOF 1 001').waitFor();
  assert.equal(await support.getByRole('button', { name: 'Approve' }).count(), 0);
  assert.equal(await forcedDecision(support, server.base, proposal), 403, 'a role without the right');
  const missing = await stranger.goto(proposal);
  assert.equal(missing.status(), 404, 'another tenant');
  assert.equal(await forcedDecision(stranger, server.base, proposal), 404);
}

async function theOwnerApproves(owner, live, proposal) {
  await owner.goto(`${live}/approvals`);
  await owner.getByRole('link', { name: 'Payout', exact: true }).click();
  assert.equal(owner.url(), proposal);
  await owner.getByText('With your approval the payout is sent at once').waitFor();
  await owner.getByRole('button', { name: 'Approve' }).click();
  await owner.getByText('The proposal was approved, and the payout was created.').waitFor();
  assert.match(owner.url(), /\/payouts\/po_/);
  await owner.getByText('XOF 1 001').first().waitFor();
  await owner.goto(proposal);
  await owner.getByText('Approved by').waitFor();
  assert.equal(await owner.getByRole('button', { name: 'Approve' }).count(), 0);
}

async function rulesAreProposed(operator, live) {
  await operator.goto(`${live}/routing/edit`);
  await operator.locator('#rule-name').fill('Everything');
  await operator.getByLabel('Main account (switchyard_demo)').fill('1');
  await operator.getByRole('button', { name: 'To the preview' }).first().click();
  await operator.getByText('Another person has to approve the rules within 72 hours.').waitFor();
  await operator.getByLabel('Reason').fill('Fees rose on Monday');
  await operator.getByRole('button', { name: 'Send for approval' }).click();
  await operator.getByText('The proposal is stored.').waitFor();
  return operator.url().split('?')[0];
}

async function theRulesAreApproved(owner, proposal) {
  await owner.goto(`${proposal}?lang=en`);
  await owner.getByText('Fees rose on Monday').waitFor();
  await owner.getByRole('button', { name: 'Approve' }).click();
  await owner.getByText('The proposal was approved. The rules apply to new attempts.').waitFor();
  await owner.getByText('1. Everything').waitFor();
}

test('two people approve a payout', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  await askForTwoPeople(server);
  const live = `${server.base}/console/apps/${server.dev.app_id}/live`;
  const owner = await signedInBy(browser, printed(server, 'owner'));
  const operator = await signedInBy(browser, printed(server, 'operator'));
  const finance = await member(browser, owner, live, 'Finance');
  const support = await member(browser, owner, live, 'Support');
  const stranger = await otherOwner(server, browser);
  const proposal = await aPayoutIsProposed(finance, live);
  const rules = await rulesAreProposed(operator, live);
  await t.test('the proposer, other roles and other tenants do not decide', () => {
    return othersDoNotDecide(server, proposal, { finance, support, stranger });
  });
  const all = {
    'approvals-of-app': `${live}/approvals`,
    'proposal-payout': proposal,
    'proposal-routing': rules,
    'settings-second-person': `${live}/settings`,
  };
  await t.test('pages fit, in both languages', async () => {
    await pagesFit(owner, all);
    await pagesFit(finance, { 'proposal-payout-own': proposal });
  });
  await t.test('axe finds nothing', () => axeFindsNothing(browser, owner.context(), all));
  await owner.goto(`${live}/approvals?lang=en`);
  await t.test('the owner approves the payout', () => theOwnerApproves(owner, live, proposal));
  await t.test('the owner approves the rules', () => theRulesAreApproved(owner, rules));
});
