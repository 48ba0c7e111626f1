// What helps people: large text on a small screen, pages for lost visitors, times in words.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test from 'node:test';

import { askForCodes, pay, payBy, PHONE, WORDS } from './checkout-steps.mjs';
import { accessibilityProblems, FAILS, openBrowser, PAYS, screenshotPath, startServer, STAYS_PENDING } from './harness.mjs';

/** Twice the size of all text, as a person sets it. */
const LARGE = 'html { font-size: 200% !important }';

test('text at 200 % fits a phone', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const page = await browser.newPage({ viewport: PHONE, bypassCSP: true });
  const look = async (name) => {
    await page.addStyleTag({ content: LARGE });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(over <= 0, `${name} is ${over} px wider than the screen`);
    await page.screenshot({ path: screenshotPath(`checkout-large-${name}`), fullPage: true });
  };
  const { checkout_url: url } = await server.initialize({ methods: null });
  await page.goto(`${url}?lang=fr&country=US`);
  await look('choose');
  const { checkout_url: paid } = await server.initialize();
  await page.goto(`${paid}?lang=fr`);
  await page.getByRole('link', { name: WORDS.fr.method }).click();
  await page.waitForURL(/\/details/);
  await look('details');
  await page.getByLabel(WORDS.fr.number).fill('12');
  await page.getByRole('button', { name: WORDS.fr.next }).click();
  await page.locator('#e-msisdn').waitFor();
  await look('details-wrong');
  await page.getByLabel(WORDS.fr.number).fill(PAYS);
  await page.getByRole('button', { name: WORDS.fr.next }).click();
  await page.waitForURL(/\/confirm\?/);
  await look('confirm');
  await page.getByRole('button', { name: WORDS.fr.pay }).click();
  await page.waitForURL(/\/result/);
  await look('success');
  await page.goto(`${paid}/receipt?lang=fr`);
  await look('receipt');

  const { checkout_url: waits } = await server.initialize();
  await pay(page, waits, STAYS_PENDING, 'fr');
  await page.waitForURL(/\/wait/);
  await look('wait');

  const { checkout_url: fails } = await server.initialize();
  await pay(page, fails, FAILS, 'fr');
  for (const name of ['failed-once', 'failed-twice']) {
    const again = page.getByRole('link', { name: 'Réessayer' });
    await again.waitFor();
    await look(name);
    await again.click();
    await page.waitForURL(/\/confirm\?/);
    await page.getByRole('button', { name: WORDS.fr.pay }).click();
  }
  await page.waitForURL(/\/result/);
  await look('failed');

  await askForCodes(server);
  const { checkout_url: asks } = await server.initialize();
  await pay(page, asks, PAYS, 'fr');
  await page.getByLabel('Code', { exact: true }).waitFor();
  await look('code');
});

test('the time left is counted in words', async (t) => {
  const server = await startServer(t);
  const page = await (await openBrowser(t)).newPage({ viewport: PHONE });
  const { checkout_url: url } = await server.initialize();
  await page.goto(`${url}?lang=en`);
  await page.waitForFunction(() => /: \d+ min \d\d s$/.test(document.querySelector('[data-left]').textContent));
});

/** Flutterwave as far as one transfer needs it, with an account that is valid until `expires`; its address. */
async function startBank(t, expires) {
  const authorization = {
    mode: 'banktransfer', transfer_reference: 'FLW-1', transfer_account: '0067100155', transfer_bank: 'Mock Bank', transfer_amount: 2500,
    account_expiration: expires, transfer_note: 'Please make a bank transfer to Simulated Ltd',
  };
  const bank = createServer((request, response) => {
    const [status, answer] = request.url.startsWith('/v3/transactions')
      ? [404, { status: 'error', message: 'No transaction was found for this id', data: null }]
      : [200, { status: 'success', message: 'Fetched', data: request.method === 'GET' ? [] : null, meta: { authorization } }];
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise((resolve) => bank.listen(0, '127.0.0.1', resolve));
  t.after(() => bank.close());
  return `http://127.0.0.1:${bank.address().port}/v3`;
}

test('how long an account to transfer to is valid is written in the words and the time of the reader', async (t) => {
  const expires = Math.floor(Date.now() / 60_000) * 60_000 + 3_600_000;
  const server = await startServer(t);
  await payBy(server, 'flutterwave', { secret_key: 'FLWSECK_TEST-x', base_url: await startBank(t, expires) });
  const browser = await openBrowser(t);
  for (const [lang, locale, zone] of [['fr', 'fr-FR', 'UTC\\+1'], ['en', 'en-GB', '(GMT\\+1|WAT)']]) {
    const page = await browser.newPage({ viewport: PHONE, locale, timezoneId: 'Africa/Lagos', bypassCSP: true });
    const { checkout_url: url } = await server.initialize({ amount: 2500, currency: 'NGN', methods: ['bank_transfer_ng'] });
    await page.goto(`${url}/details?lang=${lang}&country=NG&method=bank_transfer_ng`);
    if (/\/details/.test(page.url())) await page.getByRole('button', { name: WORDS[lang].next }).click();
    await page.waitForURL(/\/confirm\?/);
    await page.getByRole('button', { name: WORDS[lang].pay }).click();
    await page.waitForURL(/\/wait/);
    const time = page.locator('time[datetime]');
    assert.equal(Date.parse(await time.getAttribute('datetime')), expires);
    const part = (options) => new Intl.DateTimeFormat(locale, { timeZone: 'Africa/Lagos', ...options }).format(expires);
    const day = `${part({ day: 'numeric' })}(er)? ${part({ month: 'long' })} ${part({ year: 'numeric' })}`;
    const clock = part({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
    assert.match(await time.textContent(), new RegExp(`^${day}(,| à) ${clock} ${zone}$`));
    assert.deepEqual(await accessibilityProblems(page), []);
    await page.screenshot({ path: screenshotPath(`checkout-transfer-${lang}`), fullPage: true });
    await page.close();
  }
});

test('a lost visitor gets a page, in the language of their browser', async (t) => {
  const server = await startServer(t);
  const context = await (await openBrowser(t)).newContext({ viewport: PHONE, locale: 'fr-CI', bypassCSP: true });
  const page = await context.newPage();
  for (const [path, says] of [['/', /Paiements/], ['/no/such/page', /pas de page ici/]]) {
    await page.goto(server.base + path);
    assert.match(await page.textContent('h1'), says);
    assert.deepEqual(await accessibilityProblems(page), []);
  }
});

test('a receipt stays', async (t) => {
  const server = await startServer(t);
  const page = await (await openBrowser(t)).newPage({ viewport: PHONE, bypassCSP: true });
  const { checkout_url: url } = await server.initialize();
  await pay(page, url, PAYS);
  await page.waitForURL(/\/result/);
  await page.goto(`${url}/receipt`);
  assert.equal(await page.locator('[data-leave]').count(), 0);
  assert.match(await page.textContent('main'), /Amount paid/);
  assert.deepEqual(await accessibilityProblems(page), []);
});
