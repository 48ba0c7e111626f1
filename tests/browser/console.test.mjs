// The console in development mode: sign-in by link, payments, one payment, the account page; light
// and dark, phone and desktop, both languages, without script.

import assert from 'node:assert/strict';
import test from 'node:test';

import { pay } from './checkout-steps.mjs';
import { accessibilityProblems, FAILS, openBrowser, PAYS, screenshotPath, startServer, STAYS_PENDING } from './harness.mjs';

const SIZES = { phone: { width: 360, height: 740 }, desktop: { width: 1440, height: 900 } };

/** A sign-in link that the server printed at its start. */
const printed = (server, who) => server.log().match(new RegExp(`console, as ${who}\\s+(\\S+)`))[1];

test('the console', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const payer = await browser.newContext({ locale: 'en' });
  const payments = [];
  for (const number of [PAYS, FAILS, STAYS_PENDING]) {
    const page = await payer.newPage();
    const made = await server.initialize({ description: `Order for ${number}` });
    await pay(page, made.checkout_url, number);
    payments.push(made);
    await page.close();
  }
  payments.push(await server.initialize({ amount: 1485, description: 'Never opened, with a name that does not end before the line does' }));
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en', bypassCSP: true });
  const page = await context.newPage();
  const list = `${server.base}/console/apps/${server.dev.app_id}/sandbox/payments`;

  await t.test('a stranger is asked to sign in', async () => {
    await page.goto(list);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    assert.match(page.url(), /sign-in\?next=/);
    await page.getByLabel('E-mail').fill('owner@example.com');
    await page.getByLabel('Password').fill('not the password at all');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('alert').waitFor();
    assert.match(await page.getByRole('alert').innerText(), /Nobody was signed in/);
    assert.equal(await page.getByLabel('E-mail').inputValue(), 'owner@example.com');
  });

  await t.test('a sign-in link works once', async () => {
    const link = printed(server, 'owner');
    await page.goto(link);
    await page.getByRole('heading', { name: 'Apps' }).waitFor();
    const other = await browser.newContext({ locale: 'en' });
    const again = await other.newPage();
    await again.goto(link);
    await again.getByRole('heading', { name: 'This link does not work any more' }).waitFor();
    await other.close();
  });

  await t.test('the list has a tab for each status, with its number', async () => {
    await page.goto(list);
    await page.getByRole('heading', { name: 'Payments', exact: true }).waitFor();
    for (const [name, count] of [['All', 4], ['Paid', 1], ['In progress', 2], ['Not confirmed', 1], ['Failed', 0]]) {
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
  });

  await t.test('one payment says what happened to the money', async () => {
    await page.goto(list);
    await page.getByRole('link', { name: 'USD 25.00' }).last().click();
    await page.getByText('USD 25.00 was received.').waitFor();
    await page.getByText('Your server created it').waitFor();
    await page.getByText('The provider reported success').waitFor();
    await page.goto(`${list}/${payments[1].id}`);
    await page.getByText('No money has moved.').waitFor();
    await page.goto(`${list}/${payments[2].id}`);
    await page.getByText('It is not known yet whether money has moved.').waitFor();
  });

  await t.test('pages fit, can be read by everybody, in both languages', async () => {
    for (const [size, viewport] of Object.entries(SIZES)) {
      for (const colorScheme of ['light', 'dark']) {
        for (const lang of ['en', 'fr']) {
          await page.setViewportSize(viewport);
          await page.emulateMedia({ colorScheme });
          const pages = { payments: list, payment: `${list}/${payments[0].id}`, failed: `${list}/${payments[1].id}`,
            empty: list.replace('payments', 'payouts'), live: list.replace('sandbox', 'live'), account: `${server.base}/console/account`,
            apps: `${server.base}/console/`, missing: `${server.base}/console/nothing` };
          for (const [name, url] of Object.entries(pages)) {
            await page.goto(`${url}?lang=${lang}`);
            await page.screenshot({ path: screenshotPath(`console-${name}-${size}-${colorScheme}-${lang}`), fullPage: true });
            const wide = await page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth);
            assert.equal(wide, 0, `${name} ${size} ${lang} is ${wide} px too wide`);
          }
        }
      }
    }
    await page.setViewportSize(SIZES.desktop);
    await page.emulateMedia({ colorScheme: 'light' });
  });

  await t.test('axe finds nothing', async () => {
    const scripted = await browser.newContext({ locale: 'en', bypassCSP: true, storageState: await context.storageState() });
    const read = await scripted.newPage();
    const pages = [list, `${list}/${payments[0].id}`, `${server.base}/console/account`, `${server.base}/console/`, `${server.base}/console/nothing`];
    for (const viewport of Object.values(SIZES)) {
      for (const colorScheme of ['light', 'dark']) {
        await read.setViewportSize(viewport);
        await read.emulateMedia({ colorScheme });
        for (const url of pages) {
          await read.goto(url);
          assert.deepEqual(await accessibilityProblems(read), [], `${url} ${viewport.width} ${colorScheme}`);
        }
      }
    }
    await scripted.close();
  });

  await t.test('who signs out is out', async () => {
    await page.goto(`${server.base}/console/account?lang=en`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You have signed out.').waitFor();
    for (const [size, viewport] of Object.entries(SIZES)) {
      await page.setViewportSize(viewport);
      await page.screenshot({ path: screenshotPath(`console-sign-in-${size}`), fullPage: true });
    }
    await page.goto(list);
    assert.match(page.url(), /sign-in/);
  });

  await t.test('an operator sees the apps of all accounts', async () => {
    await page.goto(printed(server, 'operator'));
    await page.getByRole('heading', { name: 'Apps' }).waitFor();
    assert.equal(await page.locator('tbody tr').count(), 1);
  });
});
