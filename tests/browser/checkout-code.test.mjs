// The code that a provider sent: typed on the waiting page, wrong once and then right, with script
// and without, in both languages.

import assert from 'node:assert/strict';
import test from 'node:test';

import { askForCodes, complaints, DESKTOP, pay, PHONE } from './checkout-steps.mjs';
import { accessibilityProblems, openBrowser, PAYS, screenshotPath, startServer } from './harness.mjs';

const SAYS = {
  en: {
    field: 'Code',
    send: 'Send the code',
    short: 'The code has 6 characters.',
    wrong: 'That code was not accepted. Check it, and enter it again.',
    leave: 'Without the code the payment cannot go on.',
    paid: 'Payment successful',
  },
  fr: {
    field: 'Code',
    send: 'Envoyer le code',
    short: 'Le code comporte 6 caractères.',
    wrong: 'Ce code n’a pas été accepté. Vérifiez-le et saisissez-le à nouveau.',
    leave: 'Sans le code, le paiement ne peut pas continuer.',
    paid: 'Paiement réussi',
  },
};

/** A server whose test gateway asks for a code. */
async function startAsking(t) {
  const server = await startServer(t);
  await askForCodes(server);
  return server;
}

/** Nothing for assistive technology to stumble over, nothing wider than the screen, and a picture to look at. */
async function look(page, name) {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${name} is ${overflow} px wider than the screen`);
  await page.screenshot({ path: screenshotPath(`checkout-code-${name}`), fullPage: true });
  assert.deepEqual(await accessibilityProblems(page), [], name);
}

/** Too short, wrong, right: what is wrong is said beside the field, and nothing that was typed comes into an address. */
async function typeThrice(page, server, lang, seen) {
  const says = SAYS[lang];
  const { id, checkout_url: url } = await server.initialize();
  await pay(page, url, PAYS, lang);
  await page.waitForURL(/\/wait/);
  const field = page.getByLabel(says.field, { exact: true });
  const send = page.getByRole('button', { name: says.send });
  assert.equal(await field.getAttribute('autocomplete'), 'one-time-code');
  assert.equal(await field.getAttribute('inputmode'), 'numeric', 'a phone shows its digits');
  await page.getByText(says.leave).waitFor();
  await seen('asked');
  for (const [typed, answer, name] of [['12', says.short, 'short'], ['654 321', says.wrong, 'wrong']]) {
    await field.fill(typed);
    await send.click();
    await page.getByRole('alert').filter({ hasText: answer }).waitFor();
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
    assert.ok(await field.evaluate((element) => element === document.activeElement), 'the payer goes on where it is wrong');
    assert.equal(await field.inputValue(), '', 'a code is not shown again');
    assert.ok(!page.url().includes('654'), 'a code is in no address');
    await seen(name);
  }
  assert.equal((await server.retrieve(id)).status, 'pending');
  await field.fill(' 123 456 ');
  await field.press('Enter');
  await page.getByRole('heading', { name: says.paid }).waitFor();
  assert.equal((await server.retrieve(id)).status, 'success');
}

test('a code is typed', async (t) => {
  const server = await startAsking(t);
  const browser = await openBrowser(t);

  for (const [name, lang, viewport] of [
    ['phone-fr', 'fr', PHONE],
    ['phone-en', 'en', PHONE],
    ['desktop-fr', 'fr', DESKTOP],
    ['desktop-en', 'en', DESKTOP],
  ]) {
    await t.test(`with script, ${name}`, async () => {
      const context = await browser.newContext({ viewport, bypassCSP: true });
      const page = await context.newPage();
      await typeThrice(page, server, lang, (step) => look(page, `${step}-${name}`));
      await context.close();
    });
  }

  await t.test('with script, under the rules of the page', async () => {
    const page = await browser.newPage({ viewport: PHONE });
    const heard = complaints(page);
    await typeThrice(page, server, 'en', () => {});
    assert.deepEqual(heard, [], 'the pages break none of their own rules');
  });

  await t.test('without script, and no page loads itself again under the hands of who types', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: PHONE });
    const page = await context.newPage();
    await typeThrice(page, server, 'fr', async () => {
      assert.equal(await page.locator('meta[http-equiv=refresh]').count(), 0);
    });
    await context.close();
  });
});
