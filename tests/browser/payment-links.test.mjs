// A payment link from its form in the console to a paid payment, without script: mistakes beside
// their fields, the address, the payer's page, the uses and the end of the link.

import assert from 'node:assert/strict';
import test from 'node:test';

import { pay, PHONE } from './checkout-steps.mjs';
import { axeFindsNothing, pagesFit, printed } from './console-steps.mjs';
import {
  PAYS, accessibilityProblems, eventually, openBrowser, screenshotPath, startServer,
} from './harness.mjs';

/** The page of a link fits and is accessible, in light and dark, in both languages. */
async function payersPageFits(browser, address, name) {
  const context = await browser.newContext({ locale: 'en', bypassCSP: true });
  const page = await context.newPage();
  for (const viewport of [PHONE, { width: 1440, height: 900 }]) {
    for (const colorScheme of ['light', 'dark']) {
      for (const lang of ['en', 'fr']) {
        await page.setViewportSize(viewport);
        await page.emulateMedia({ colorScheme });
        await page.goto(`${address}?lang=${lang}`);
        const form = `${name}-${viewport.width}-${colorScheme}-${lang}`;
        await page.screenshot({ path: screenshotPath(form), fullPage: true });
        const root = page.locator('html');
        const wide = await root.evaluate((html) => html.scrollWidth - html.clientWidth);
        assert.equal(wide, 0, `${form} is ${wide} px too wide`);
        assert.deepEqual(await accessibilityProblems(page), [], form);
      }
    }
  }
  await context.close();
}

test('a payment link is created, paid, followed and disabled, without script', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en' });
  const page = await context.newPage();
  await page.goto(printed(server, 'owner'));
  const app = `${server.base}/console/apps/${server.dev.app_id}/sandbox`;
  await page.goto(`${app}/payments`);
  await page.getByRole('link', { name: 'Payment links' }).first().click();
  const list = page.url();
  await page.getByText('There is no payment link yet.').waitFor();

  await page.getByRole('link', { name: 'New payment link' }).click();
  const form = page.url();
  const title = 'A donation for a very long roof of the school of the village of Abomey-Calavi';
  await page.getByLabel('Title').fill(title);
  await page.getByLabel('Currency', { exact: true }).selectOption('USD');
  await page.getByLabel('Least amount').fill('many');
  await page.getByLabel('Largest amount').fill('1000');
  await page.getByLabel('Largest number of payments').fill('0');
  await page.getByRole('button', { name: 'Create the link' }).click();
  await page.getByText('Write a number from 1 to 10000.').waitFor();
  assert.equal(await page.getByLabel('Least amount').inputValue(), 'many');
  await page.getByLabel('Least amount').fill('5,50');
  await page.getByLabel('Largest number of payments').fill('2');
  await page.locator('input[name="methods"][value="switchyard_payment_demo"]').check();
  await page.getByRole('button', { name: 'Create the link' }).click();
  await page.getByText('The link was created.').waitFor();
  const link = page.url().split('?')[0];
  const address = await page.getByLabel('Address for payers').inputValue();
  assert.match(address, /\/l\/[0-9a-z]{16}$/);
  await page.getByRole('img', { name: 'QR code with the address of the link' }).waitFor();
  const pages = { links: list, 'link-new': form, link };
  await pagesFit(page, pages);
  await axeFindsNothing(browser, context, pages);
  await payersPageFits(browser, address, 'payment-link');

  const withoutScript = { javaScriptEnabled: false, viewport: PHONE, locale: 'en' };
  const visitor = await browser.newContext(withoutScript);
  const payer = await visitor.newPage();
  await payer.goto(address);
  await payer.getByLabel('Amount in USD').fill('5,49');
  await payer.getByLabel('First name').fill('Ada');
  await payer.getByLabel('Last name').fill('Lovelace');
  await payer.getByLabel('E-mail address').fill('ada@example.com');
  await payer.getByRole('button', { name: 'Continue' }).click();
  await payer.getByText('The amount has to be between').waitFor();
  assert.equal(await payer.getByLabel('Last name').inputValue(), 'Lovelace');
  await payer.getByLabel('Amount in USD').fill('12,50');
  await payer.getByRole('button', { name: 'Continue' }).click();
  await payer.waitForURL(/\/checkout\/py_/);
  await pay(payer, payer.url().split('?')[0], PAYS);
  await payer.getByRole('heading', { name: 'Payment successful' }).waitFor();
  await payer.getByRole('link', { name: /^Back to / }).click();
  await payer.getByRole('heading', { name: 'You can close this page' }).waitFor();

  await eventually('the payment on the page of the link', async () => {
    await page.goto(`${link}?lang=en`);
    return (await page.locator('main').innerText()).includes('USD\u00a012.50');
  });
  await page.getByRole('button', { name: 'Disable the link' }).click();
  await page.getByText('The link is disabled.').waitFor();
  await payer.goto(address);
  await payer.getByRole('heading', { name: 'This payment link is closed' }).waitFor();
  await payersPageFits(browser, address, 'payment-link-closed');
});
