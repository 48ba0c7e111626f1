// The page of a payment in a coin, of the gateway that ships and with a node of the test's own: the
// address first and largest, buttons that copy, and text at 200 %.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import test from 'node:test';

import { complaints, DESKTOP, payBy, PHONE } from './checkout-steps.mjs';
import { accessibilityProblems, eventually, openBrowser, screenshotPath, startServer } from './harness.mjs';

const XPUB = 'xpub6Ce9NcJvTk36xtLSrJLZqE7wtgA5deCeYs7rSQtreh4cj6ByPtrg9sD7V2FNFLPnf8heNP3FGkeV9qwfzvZNSd54JoNXVsXFYSYwHsnJxqP';

const SAYS = {
  en: { pay: /^Pay /, next: 'Continue', address: 'Copy address', amount: 'Copy amount', copied: 'Copied' },
  fr: { pay: /^Payer /, next: 'Continuer', address: 'Copier l’adresse', amount: 'Copier le montant', copied: 'Copié' },
};

/** A node of chain 1 on which nobody was ever paid; its address. */
async function startNode(t) {
  const block = () => ({ number: '0x10', hash: `0x${'1'.repeat(64)}`, timestamp: `0x${Math.floor(Date.now() / 1000).toString(16)}` });
  const says = { eth_chainId: () => '0x1', eth_getBlockByNumber: block };
  const node = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    const answers = JSON.parse(text).map(({ id, method }) => ({ jsonrpc: '2.0', id, result: (says[method] ?? (() => '0x0'))() }));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers));
  });
  await new Promise((resolve) => node.listen(0, '127.0.0.1', resolve));
  t.after(() => node.close());
  return `http://127.0.0.1:${node.address().port}`;
}

async function startTakingCoins(t) {
  const server = await startServer(t);
  const coin = { native_enabled: true, native_symbol: 'ETH', rates: 'ETH/USD=2500' };
  await payBy(server, 'crypto_evm', { account_xpub: XPUB, rpc_url: await startNode(t), chain_id: 1, ...coin });
  return server;
}

/** From the checkout link to the page that says where to send the coins. */
async function toAddress(page, server, lang) {
  const { checkout_url: url } = await server.initialize({ methods: ['crypto_usd'] });
  await page.goto(`${url}/details?lang=${lang}&country=US&method=crypto_usd`);
  if (/\/details/.test(page.url())) await page.getByRole('button', { name: SAYS[lang].next }).click();
  await page.waitForURL(/\/confirm\?/);
  await page.getByRole('button', { name: SAYS[lang].pay }).click();
  await page.waitForURL(/\/wait/);
  await page.locator('.addr').waitFor();
}

/** What is in the frame with the address, in its order: its text and the size of its letters. */
function sizes() {
  const size = (element) => parseFloat(getComputedStyle(element).fontSize);
  const frame = document.querySelector('.pay');
  const picks = [...frame.querySelectorAll('.pick')].map((pick) => ({ text: pick.textContent.trim(), size: size(pick) }));
  const largest = Math.max(...[...document.querySelectorAll('main *')].filter((one) => one.textContent.trim()).map(size));
  const qr = document.querySelector('.qrs');
  const before = (one) => Boolean(one && frame.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
  return { picks, largest, isBeforeTheCodes: before(qr) };
}

test('where coins are sent to', async (t) => {
  const server = await startTakingCoins(t);
  const browser = await openBrowser(t);
  for (const [name, lang, viewport] of [
    ['phone-fr', 'fr', PHONE],
    ['phone-en', 'en', PHONE],
    ['desktop-fr', 'fr', DESKTOP],
    ['desktop-en', 'en', DESKTOP],
  ]) {
    await t.test(name, async () => {
      const context = await browser.newContext({ viewport, bypassCSP: true });
      await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: server.base });
      const page = await context.newPage();
      await toAddress(page, server, lang);
      const { picks, largest, isBeforeTheCodes } = await page.evaluate(sizes);
      const [address, amount] = picks;
      assert.match(address.text, /^0x[0-9a-fA-F]{40}$/);
      assert.equal(amount.text, '0.01', '25 USD at 2500 USD for one');
      assert.equal(address.size, largest, 'nothing is larger than the address');
      assert.ok(amount.size < address.size);
      assert.ok(isBeforeTheCodes, 'the address comes before the codes to scan');

      for (const [label, text] of [[SAYS[lang].address, address.text], [SAYS[lang].amount, amount.text]]) {
        const button = page.getByRole('button', { name: label });
        await button.click();
        await eventually(`${text} is copied`, async () => await page.evaluate(() => navigator.clipboard.readText()) === text);
        await button.waitFor({ state: 'detached' });
      }
      assert.equal(await page.getByRole('button', { name: SAYS[lang].copied }).count(), 2, 'both say that it was done');
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${name} is ${overflow} px wider than the screen`);
      assert.deepEqual(await accessibilityProblems(page), [], name);
      await page.screenshot({ path: screenshotPath(`checkout-crypto-${name}`), fullPage: true });

      await page.addStyleTag({ content: 'html { font-size: 200% !important }' });
      const large = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(large <= 0, `${name} with large text is ${large} px wider than the screen`);
      await page.screenshot({ path: screenshotPath(`checkout-crypto-large-${name}`), fullPage: true });
      await context.close();
    });
  }

  await t.test('under the rules of the page', async () => {
    const page = await browser.newPage({ viewport: PHONE });
    const heard = complaints(page);
    await toAddress(page, server, 'en');
    assert.deepEqual(heard, [], 'the page breaks none of its own rules');
  });
});
