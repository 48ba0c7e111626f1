// The whole flow without script: plain forms and links, and a waiting page that asks again by
// itself.

import assert from 'node:assert/strict';
import test from 'node:test';

import { pay, PHONE, WORDS } from './checkout-steps.mjs';
import { FAILS, openBrowser, PAYS, startServer, STAYS_PENDING } from './harness.mjs';

test('with script off', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: PHONE, locale: 'fr-CI' });

  await t.test('a person pays in their own language, and goes back by the link', async () => {
    const page = await context.newPage();
    const { id, checkout_url: url } = await server.initialize();
    await page.goto(url);
    await page.getByRole('heading', { name: 'Comment souhaitez\u2011vous payer ?' }).waitFor();
    await page.getByRole('link', { name: 'English' }).click();
    await page.getByRole('heading', { name: 'How would you like to pay?' }).waitFor();
    await pay(page, url, PAYS);
    await page.getByRole('heading', { name: 'Payment successful' }).waitFor();
    assert.equal((await server.verify(id)).status, 'success');
    assert.equal(await page.locator('meta[http-equiv=refresh]').count(), 0, 'what nobody can stop does not start');
    await page.getByRole('link', { name: /^Back to / }).click();
    await page.waitForURL(/paymentStatus=success/);
    assert.equal(new URL(page.url()).searchParams.get('order'), '7');
  });

  await t.test('a failure is explained', async () => {
    const page = await context.newPage();
    const { checkout_url: url } = await server.initialize();
    await pay(page, url, FAILS, 'fr');
    await page.getByRole('heading', { name: 'Le paiement n’a pas abouti' }).waitFor();
    await page.getByRole('link', { name: 'Réessayer' }).click();
    await page.getByRole('link', { name: 'Modifier les informations' }).click();
    await page.getByLabel(WORDS.fr.number).fill(PAYS);
    await page.getByRole('button', { name: WORDS.fr.next }).click();
    await page.getByRole('button', { name: WORDS.fr.pay }).click();
    await page.getByRole('heading', { name: 'Paiement réussi' }).waitFor();
    await page.getByRole('link', { name: /^Retour chez / }).click();
    await page.waitForURL(/paymentStatus=success/);
  });

  await t.test('the waiting page asks again by itself, until the payer stops it', async () => {
    const page = await context.newPage();
    const { checkout_url: url } = await server.initialize();
    await pay(page, url, STAYS_PENDING, 'fr');
    await page.getByRole('heading', { name: 'Nous attendons votre paiement' }).waitFor();
    const asked = page.waitForResponse((answer) => answer.url().includes('/wait'), { timeout: 30_000 });
    assert.equal((await asked).status(), 200);
    await page.getByRole('link', { name: 'Ne plus actualiser' }).click();
    await page.waitForURL(/still=1/);
    assert.match(await page.content(), /ne s’actualise plus automatiquement/);
    assert.equal(await page.locator('meta[http-equiv=refresh]').count(), 0);
  });

  await t.test('a person cancels', async () => {
    const page = await context.newPage();
    const { id, checkout_url: url } = await server.initialize();
    await page.goto(`${url}?lang=fr`);
    await page.getByRole('link', { name: 'Annuler ce paiement' }).click();
    await page.getByRole('button', { name: 'Oui, annuler le paiement' }).click();
    await page.getByRole('heading', { name: 'Paiement annulé' }).waitFor();
    assert.equal((await server.retrieve(id)).status, 'cancelled');
  });
});
