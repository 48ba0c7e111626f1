// The console in development mode: sign-in by link, payments, one payment, the account page; light
// and dark, phone and desktop, both languages, without script.

import assert from 'node:assert/strict';
import test from 'node:test';

import { pay } from './checkout-steps.mjs';
import { axeFindsNothing, pagesFit, printed, SIZES } from './console-steps.mjs';
import { FAILS, openBrowser, PAYS, screenshotPath, startServer, STAYS_PENDING } from './harness.mjs';

/** Payments that succeeded, was declined once, waits for its provider and was never opened. */
async function makePayments(server, browser) {
  const payer = await browser.newContext({ locale: 'en' });
  const payments = [];
  for (const number of [PAYS, FAILS, STAYS_PENDING]) {
    const page = await payer.newPage();
    const made = await server.initialize({ description: `Order for ${number}` });
    await pay(page, made.checkout_url, number);
    payments.push(made);
  }
  await payer.close();
  const description = 'Never opened, with a name that does not end before the line does';
  payments.push(await server.initialize({ amount: 1485, description }));
  return payments;
}

async function strangersAreAskedToSignIn(page, list) {
  await page.goto(list);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.match(page.url(), /sign-in\?next=/);
  await page.getByLabel('E-mail').fill('owner@example.com');
  await page.getByLabel('Password').fill('not the password at all');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('alert').waitFor();
  assert.match(await page.getByRole('alert').innerText(), /Nobody was signed in/);
  assert.equal(await page.getByLabel('E-mail').inputValue(), 'owner@example.com');
}

async function aLinkWorksOnce(page, browser, link) {
  await page.goto(link);
  await page.getByRole('heading', { name: 'Apps' }).waitFor();
  const other = await browser.newContext({ locale: 'en' });
  const again = await other.newPage();
  await again.goto(link);
  await again.getByRole('heading', { name: 'This link does not work any more' }).waitFor();
  await other.close();
}

async function theListIsFiltered(page, list) {
  await page.goto(list);
  await page.getByRole('heading', { name: 'Payments', exact: true }).waitFor();
  const tabs = { All: 4, Paid: 1, 'In progress': 2, 'Not confirmed': 1, Failed: 0 };
  for (const [name, count] of Object.entries(tabs)) {
    await page.getByRole('link', { name: `${name}${count}`, exact: true }).waitFor();
  }
  await page.getByRole('link', { name: 'Paid1', exact: true }).click();
  assert.equal(await page.locator('tbody tr:not(.day)').count(), 1);
  assert.match(await page.locator('tbody').innerText(), /Paid/);
  await page.getByLabel('From').fill('2027-01-01');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('No payment matches').waitFor();
  await page.getByRole('link', { name: 'Show all' }).first().click();
  assert.equal(await page.locator('tbody tr:not(.day)').count(), 4);
}

async function onePaymentNamesItsMoney(page, list, [, declined, waiting]) {
  await page.goto(list);
  await page.getByRole('link', { name: 'USD 25.00' }).last().click();
  await page.getByText('USD 25.00 was received.').waitFor();
  await page.getByText('Your server created it').waitFor();
  await page.getByText('The provider reported success').waitFor();
  await page.goto(`${list}/${declined.id}`);
  await page.getByText('No money has moved.').waitFor();
  await page.goto(`${list}/${waiting.id}`);
  await page.getByText('It is not known yet whether money has moved.').waitFor();
}

/** Every page by name. */
function pages(base, list, [paid, declined]) {
  return {
    payments: list,
    payment: `${list}/${paid.id}`,
    declined: `${list}/${declined.id}`,
    empty: list.replace('payments', 'payouts'),
    live: list.replace('sandbox', 'live'),
    account: `${base}/console/account`,
    password: `${base}/console/account/password`,
    'second-factor': `${base}/console/account/second-factor`,
    apps: `${base}/console/`,
    missing: `${base}/console/nothing`,
  };
}

async function signOut(page, base, list) {
  await page.setViewportSize(SIZES.desktop);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.goto(`${base}/console/account?lang=en`);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You have signed out.').waitFor();
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    await page.screenshot({ path: screenshotPath(`console-sign-in-${size}`), fullPage: true });
  }
  await page.goto(list);
  assert.match(page.url(), /sign-in/);
  await page.getByRole('link', { name: 'Forgot your password?' }).click();
  await page.getByLabel('E-mail').fill('nobody@example.com');
  await page.screenshot({ path: screenshotPath('console-forgotten'), fullPage: true });
  await page.getByRole('button', { name: 'Send the link' }).click();
  await page.getByRole('heading', { name: 'Look into your mailbox' }).waitFor();
}

test('the console', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const payments = await makePayments(server, browser);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en', bypassCSP: true });
  const page = await context.newPage();
  const list = `${server.base}/console/apps/${server.dev.app_id}/sandbox/payments`;
  const all = pages(server.base, list, payments);

  await t.test('a stranger is asked to sign in', () => strangersAreAskedToSignIn(page, list));
  await t.test('a sign-in link works once', () => aLinkWorksOnce(page, browser, printed(server, 'owner')));
  await t.test('the list has a tab for each status, with its number', () => theListIsFiltered(page, list));
  await t.test('one payment says what happened to the money', () => onePaymentNamesItsMoney(page, list, payments));
  await t.test('pages fit, in both languages', () => pagesFit(page, all));
  await t.test('axe finds nothing', () => axeFindsNothing(browser, context, all));
  await t.test('who signs out is out', () => signOut(page, server.base, list));
  await t.test('an operator sees the apps of all accounts', async () => {
    await page.goto(printed(server, 'operator'));
    await page.getByRole('heading', { name: 'Installation' }).waitFor();
    await page.goto(`${server.base}/console/installation/accounts`);
    assert.equal(await page.locator('tbody tr').count(), 1);
  });
});
