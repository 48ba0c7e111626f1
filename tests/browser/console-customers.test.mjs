// Customers in the console, without script: list, one with their payments, export, and erasure
// of personal data.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';

import { pay } from './checkout-steps.mjs';
import { axeFindsNothing, pagesFit, printed } from './console-steps.mjs';
import { PAYS, eventually, openBrowser, startServer } from './harness.mjs';

const EMAIL = 'zenobia@example.com';
const zenobia = { email: EMAIL, first_name: 'Zenobia', last_name: 'Okonkwo', phone: '+22997000001' };

test('a customer is found, exported and erased, without script', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en' });
  const page = await context.newPage();
  await page.goto(printed(server, 'owner'));
  const app = `${server.base}/console/apps/${server.dev.app_id}/sandbox`;
  const paid = await server.initialize({ description: 'Two coffees', customer: zenobia });
  const waiting = await server.initialize({ description: 'Never paid', customer: zenobia });
  const payer = await (await browser.newContext()).newPage();
  await pay(payer, paid.checkout_url, PAYS);
  await eventually('the success', async () => (await server.verify(paid.id)).status === 'success');

  await page.goto(`${app}/home`);
  await page.getByRole('link', { name: 'Customers' }).first().click();
  const list = page.url();
  await page.getByLabel('E-mail').fill('nobody@example.com');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByText('No customer has this e-mail address.').waitFor();
  await page.getByLabel('E-mail').fill(EMAIL.toUpperCase());
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('link', { name: 'Zenobia Okonkwo' }).click();
  const customer = page.url();
  assert.equal(await page.getByRole('link', { name: 'USD' }).count(), 2, 'both payments');

  const download = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Export as JSON' }).click();
  const file = JSON.parse(await readFile(await (await download).path(), 'utf8'));
  assert.equal(file.customer.email, EMAIL);
  assert.deepEqual(file.transactions.map(({ id }) => id), [waiting.id, paid.id]);

  const shown = {
    customers: list,
    'customers-none': `${list}?email=nobody%40example.com`,
    customer,
    'customer-erase': `${customer}/erase`,
  };
  await pagesFit(page, shown);
  await axeFindsNothing(browser, context, shown);
  await page.goto(`${customer}?lang=en`);

  await page.getByRole('link', { name: 'Erase personal data' }).click();
  await page.getByLabel('E-mail address of the customer').fill('other@example.com');
  await page.getByRole('button', { name: 'Erase now' }).click();
  await page.getByText('This is not the e-mail address of the customer.').waitFor();
  await page.getByLabel('E-mail address of the customer').fill(EMAIL);
  await page.getByRole('button', { name: 'Erase now' }).click();
  await page.getByText('Erased from 1 payments and payouts. 1 keep the data for now').waitFor();
  await page.goto(`${app}/payments/${paid.id}`);
  await page.getByText('Personal data of the customer erased').waitFor();
  assert.equal(await page.getByText('Zenobia').count(), 0, 'nobody is named');

  await page.goto(`${app}/payments/${waiting.id}`);
  await page.getByRole('button', { name: 'Cancel the payment' }).click();
  await page.goto(`${customer}/erase`);
  await page.getByLabel('E-mail address of the customer').fill(EMAIL);
  await page.getByRole('button', { name: 'Erase now' }).click();
  await page.getByText('The personal data was erased.').waitFor();
  await page.goto(`${list}?email=${encodeURIComponent(EMAIL)}`);
  await page.getByText('No customer has this e-mail address.').waitFor();
});
