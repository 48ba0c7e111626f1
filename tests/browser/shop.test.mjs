// A person buys in the example shop: from its front page, over the checkout page, back to the shop,
// which delivers once and only then.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import test from 'node:test';

import { eventually, FAILS, freePort, openBrowser, PAYS, programs, startServer } from './harness.mjs';

const SECRET = 'whsec_b2YgdGhlIHRlYXBvdCBzaG9w';

/** The shop, with a webhook of its own at the engine. */
async function openShop(t, server) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { ...process.env, SHOP_DEV_FILE: join(server.data, 'dev.json'), SHOP_PORT: port, SHOP_WEBHOOK_SECRET: SECRET };
  const shop = spawn(join(programs, 'shop'), { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => shop.kill('SIGKILL'));
  let said = '';
  shop.stdout.on('data', (text) => (said += text));
  await eventually('the shop is open', () => fetch(url).then((answer) => answer.ok, () => false));
  await server.operator('POST', `/operator/v1/apps/${server.dev.app_id}/webhooks`, { url: `${url}/webhooks`, secret: SECRET });
  return { url, deliveries: () => said.split('\n').filter((line) => line.startsWith('Delivered order')).length };
}

/** From the shop's front page to the end of the checkout page. */
async function buy(page, shop, number) {
  await page.goto(shop.url);
  await page.getByRole('button', { name: 'Buy it' }).click();
  const id = new URL(page.url()).pathname.split('/').pop();
  await page.goto(`${page.url()}?country=US&lang=en`);
  await page.locator('a[href*="method=switchyard_payment_demo"]').first().click();
  await page.locator('input:not([type=hidden])').first().fill(number);
  await page.locator('main form button[type=submit]').click();
  await page.locator('main form button[type=submit]').first().click();
  await page.waitForURL(/\/result/);
  return id;
}

test('a teapot is paid for, and delivered once', async (t) => {
  const server = await startServer(t);
  const shop = await openShop(t, server);
  const browser = await openBrowser(t);
  const page = await browser.newPage();

  const id = await buy(page, shop, PAYS);
  await page.locator('a[data-leave]').click();
  await page.waitForURL(`${shop.url}/thanks**`);
  assert.match(await page.textContent('body'), /Thank you/);
  assert.equal(new URL(page.url()).searchParams.get('paymentStatus'), 'success');

  await eventually('the payment is marked as processed', async () => (await server.retrieve(id)).is_processed);
  await page.reload();
  assert.match(await page.textContent('body'), /Thank you/);
  assert.equal(shop.deliveries(), 1, 'the return page and the webhook both heard of it');
});

test('a payment that failed, or that was never made, delivers nothing', async (t) => {
  const server = await startServer(t);
  const shop = await openShop(t, server);
  const browser = await openBrowser(t);
  const page = await browser.newPage();
  await server.operator('PATCH', `/operator/v1/apps/${server.dev.app_id}`, { settings: { checkout_attempts: 1 } });

  const id = await buy(page, shop, FAILS);
  await page.goto(`${shop.url}/thanks?paymentId=${id}&paymentStatus=success`);
  assert.match(await page.textContent('body'), /Nothing was paid/, 'the address is only a hint');

  const forged = JSON.stringify({ event: 'payment.success', data: { id, status: 'success' } });
  const headers = (signature) => ({ 'x-service-signature': signature });
  const post = (signature) => fetch(`${shop.url}/webhooks`, { method: 'POST', body: forged, headers: headers(signature) });
  assert.equal((await post('00'.repeat(32))).status, 403);
  assert.equal((await post(createHmac('sha256', SECRET).update(forged).digest('hex'))).status, 200, 'signed, and still only a hint');
  assert.equal(shop.deliveries(), 0);
});
