// A person pays, cancels, or lets a payment expire: with script, in two languages.

import assert from 'node:assert/strict';
import test from 'node:test';

import { complaints, pay, PHONE, toConfirm, WORDS } from './checkout-steps.mjs';
import { eventually, FAILS, openBrowser, PAYS, startServer, STAYS_PENDING } from './harness.mjs';

test('the three test numbers', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const visitor = () => browser.newPage({ viewport: PHONE });

  await t.test('the first one pays, and leads back to the merchant', async () => {
    const page = await visitor();
    const heard = complaints(page);
    const { id, checkout_url: url } = await server.initialize();
    await pay(page, url, PAYS);
    await page.getByRole('heading', { name: 'Payment successful' }).waitFor();
    assert.equal((await server.verify(id)).status, 'success');
    assert.match(await page.textContent('main'), /You will go back to 127\.0\.0\.1:\d+ in (20|19) seconds/);
    assert.deepEqual(heard, [], 'the pages break none of their own rules');
    await page.waitForTimeout(15_000);
    assert.match(page.url(), /\/result/, 'it does not leave in under 20 seconds');

    // Without any click the page returns to the merchant, with the merchant's own query kept.
    await page.waitForURL((address) => address.searchParams.has('paymentStatus'), { timeout: 15_000 });
    const back = new URL(page.url());
    assert.equal(back.pathname, '/healthz');
    assert.deepEqual(Object.fromEntries(back.searchParams), { order: '7', paymentId: id, paymentStatus: 'success' });
  });

  await t.test('the second one waits, and the payer may leave', async () => {
    const page = await visitor();
    const { id, checkout_url: url } = await server.initialize();
    await pay(page, url, STAYS_PENDING, 'fr');
    await page.getByRole('heading', { name: 'Nous attendons votre paiement' }).waitFor();
    assert.equal(await page.getByRole('status').first().isVisible(), true);
    assert.match(await page.textContent('main'), /••••\u00a08162/, 'a number is shown by its end');
    await page.waitForTimeout(1_500);
    assert.match(page.url(), /\/wait/, 'it still waits');
    assert.equal((await server.retrieve(id)).status, 'pending');
    await page.getByRole('link', { name: /Retourner maintenant/ }).click();
    await page.waitForURL(/paymentStatus=pending/);
  });

  await t.test('any other number is told what is wrong, beside the field', async () => {
    const page = await visitor();
    const { checkout_url: url } = await server.initialize();
    await page.goto(`${url}?lang=en`);
    await page.getByRole('link', { name: /Test payment/ }).click();
    for (const number of ['', '12', '<script>alert(1)</script>']) {
      await page.getByLabel('Test phone number').fill(number);
      await page.getByRole('button', { name: 'Continue' }).click();
      const field = page.getByLabel('Test phone number');
      await page.locator('#e-msisdn').waitFor();
      assert.equal(await field.getAttribute('aria-invalid'), 'true');
      assert.ok(await field.evaluate((element) => element === document.activeElement), 'the payer goes on where it is wrong');
      assert.equal(await field.inputValue(), number);
    }
  });
});

test('a waiting page hears of news, by events or by asking', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const page = await browser.newPage();
  const { id, checkout_url: url } = await server.initialize();
  const streams = [];
  page.on('request', (request) => request.url().includes('/events') && streams.push(request.url()));
  await pay(page, url, STAYS_PENDING);
  await page.getByRole('heading', { name: 'We are waiting for your payment' }).waitFor();
  await eventually('the page listens', () => streams.length > 0);
  const mark = await page.locator('[data-live]').getAttribute('data-live');
  const status = await fetch(`${url}/status`);
  assert.deepEqual(await status.json(), { stand: mark }, 'nothing to load again for');
  assert.equal((await server.retrieve(id)).status, 'pending');

  // News by an event: the page asks for itself again.
  let told = false;
  await page.route('**/events**', (route) => {
    if (told) return route.abort();
    told = true;
    return route.fulfill({ contentType: 'text/event-stream', body: 'data: something-else\n\n' });
  });
  const shownAgain = page.waitForResponse((answer) => /\/wait/.test(answer.url()));
  await page.reload();
  await shownAgain;
  await eventually('the event was heard', () => told);

  // No event arrives any more: the page polls the status instead.
  await page.route('**/status**', (route) => route.fulfill({ json: { stand: 'something-else' } }));
  await page.waitForRequest(/\/status/, { timeout: 30_000 });
  await page.waitForResponse((answer) => /\/wait/.test(answer.url()), { timeout: 30_000 });
});

test('the third test number is declined, with two ways on, and fails at the third attempt', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const page = await browser.newPage({ viewport: PHONE });
  const { id, checkout_url: url } = await server.initialize();
  await pay(page, url, FAILS);
  for (const left of [/You can try 2 more times/, /You can try once more/]) {
    const alert = page.getByRole('alert').filter({ hasText: 'The payment did not work' });
    await alert.waitFor();
    assert.match(await alert.textContent(), /was refused, by you or by your bank or provider/);
    assert.match(await page.textContent('main'), left);
    assert.equal((await server.retrieve(id)).status, 'pending', 'one attempt is not the payment');
    await page.getByRole('link', { name: 'Another method' }).click();
    await page.getByRole('link', { name: WORDS.en.method }).click();
    // The link may be in other hands: an empty field means the number, which is not shown in full.
    assert.equal(await page.getByLabel(WORDS.en.number).inputValue(), '');
    assert.match(await page.textContent('main'), new RegExp(`••••\u00a0${FAILS.slice(-4)}`), 'what was typed is kept');
    await page.goBack();
    await page.goBack();
    await page.getByRole('link', { name: 'Try again' }).click();
    assert.match(await page.textContent('main'), new RegExp(`••••\u00a0${FAILS.slice(-4)}`));
    await page.getByRole('button', { name: WORDS.en.pay }).click();
  }
  const failed = page.getByRole('alert').filter({ hasText: 'The payment did not work' });
  await failed.waitFor();
  await page.waitForURL(/\/result/);
  assert.equal((await server.retrieve(id)).status, 'failed');
  assert.equal(await page.getByRole('link', { name: 'Try again' }).count(), 0);
  await page.waitForTimeout(25_000);
  assert.match(page.url(), /\/result/, 'a failure does not leave by itself');
  await page.getByRole('link', { name: /^Back to / }).click();
  await page.waitForURL(/paymentStatus=failed/);
});

test('a number that the provider refuses comes back to its field and costs no attempt', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const page = await browser.newPage({ viewport: PHONE });
  const { id, checkout_url: url } = await server.initialize();
  await pay(page, url, '4149518199');
  const field = page.getByLabel(WORDS.en.number);
  await page.locator('#e-msisdn').filter({ hasText: 'This is no number of the test gateway' }).waitFor();
  assert.equal(await field.inputValue(), '4149518199');
  assert.ok(await field.evaluate((element) => element === document.activeElement));
  await field.fill(PAYS);
  await page.getByRole('button', { name: WORDS.en.next }).click();
  await page.getByRole('button', { name: WORDS.en.pay }).click();
  await page.getByRole('heading', { name: 'Payment successful' }).waitFor();
  assert.equal((await server.retrieve(id)).status, 'success');
});

test('a long list of methods can be searched', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const page = await browser.newPage({ viewport: PHONE });
  const { checkout_url: url } = await server.initialize({ currency: 'NGN', methods: null });
  await page.goto(`${url}?lang=fr`);
  const methods = page.locator('[data-methods] a:visible');
  assert.ok((await methods.count()) > 6);
  await page.getByLabel('Trouver un moyen de paiement').fill('MTN');
  assert.equal(await methods.count(), 1);
  await page.getByRole('status').filter({ hasText: 'Moyens trouvés : 1' }).waitFor();
  await page.getByLabel('Trouver un moyen de paiement').fill('');
  assert.ok((await methods.count()) > 6);
  await page.goto(`${url}?lang=fr&country=xx`);
  assert.match(await page.textContent('main'), /Nigeria/, 'the only country is not asked for');
});

test('cancelling asks first, and tells the merchant', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const page = await browser.newPage({ viewport: PHONE });
  const { id, checkout_url: url } = await server.initialize();
  await page.goto(`${url}?lang=en`);
  await page.getByRole('link', { name: 'Cancel this payment' }).click();
  assert.equal((await server.retrieve(id)).status, 'initiated', 'looking changes nothing');
  await page.getByRole('link', { name: 'No, go on paying' }).click();
  await page.getByRole('heading', { name: 'How would you like to pay?' }).waitFor();
  await page.getByRole('link', { name: 'Cancel this payment' }).click();
  await page.getByRole('button', { name: 'Yes, cancel the payment' }).click();
  await page.getByRole('heading', { name: 'Payment cancelled' }).waitFor();
  assert.equal((await server.retrieve(id)).status, 'cancelled');
  await page.getByRole('link', { name: /^Back to / }).click();
  await page.waitForURL(/paymentStatus=cancelled/);
});

test('a payment that nobody pays expires, in front of the payer', async (t) => {
  const server = await startServer(t, { SWITCHYARD_PAYMENT__EXPIRES_AFTER: '6s' });
  const browser = await openBrowser(t);
  const page = await browser.newPage({ viewport: PHONE });
  const { id, checkout_url: url } = await server.initialize();
  await toConfirm(page, url, PAYS, 'fr');
  await page.getByText(/Temps restant pour payer.*\d\ss$/).waitFor();
  await page.getByRole('alert').filter({ hasText: 'moins d’une minute' }).waitFor({ state: 'attached' });
  await page.getByRole('heading', { name: 'Le temps pour payer est écoulé' }).waitFor({ timeout: 20_000 });
  assert.equal((await server.retrieve(id)).status, 'cancelled');
  await page.getByRole('link', { name: /^Retour chez / }).click();
  await page.waitForURL(/paymentStatus=cancelled/);
});
