// What people do besides paying once: pressing twice, going back, opening two tabs, coming back to
// an old page. None of it does harm.

import assert from 'node:assert/strict';
import test from 'node:test';

import { pay, toConfirm, WORDS } from './checkout-steps.mjs';
import { FAILS, openBrowser, PAYS, startServer, STAYS_PENDING } from './harness.mjs';

// What each of them finds: a server, a browser, and how many attempts a payment has had.
const HARMLESS = {
  'a button that is pressed twice pays once': async ({ server, context, attempts }) => {
    const page = await context.newPage();
    const { id, checkout_url: url } = await server.initialize();
    await toConfirm(page, url, STAYS_PENDING);
    const posts = [];
    page.on('request', (request) => request.method() === 'POST' && posts.push(request.url()));
    await page.getByRole('button', { name: WORDS.en.pay }).dblclick();
    await page.waitForURL(/\/wait/);
    assert.equal(posts.length, 1);
    assert.equal((await server.retrieve(id)).status, 'pending');
    assert.equal(await attempts(id), 1);
  },

  'the same form ten times at once pays once': async ({ server, context, attempts }) => {
    const page = await context.newPage();
    const { id, checkout_url: url } = await server.initialize();
    await toConfirm(page, url, STAYS_PENDING);
    const a = await page.locator('input[name=a]').getAttribute('value');
    const body = new URLSearchParams({ a });
    const send = () => fetch(`${url}/confirm`, { method: 'POST', body, redirect: 'manual' });
    const answers = await Promise.all(Array.from({ length: 10 }, send));
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([303]));
    assert.equal(await attempts(id), 1);
    assert.equal((await send()).headers.get('location'), `/checkout/${id}/wait`, 'and once more, later');
    assert.equal(await attempts(id), 1);
  },

  'a form sent ten times is one attempt, however many are allowed and however fast they fail': async ({ server, context, attempts }) => {
    await server.operator('PATCH', `/operator/v1/apps/${server.dev.app_id}`, { settings: { checkout_attempts: 5 } });
    const page = await context.newPage();
    const { id, checkout_url: url } = await server.initialize();
    await server.operator('PATCH', `/operator/v1/apps/${server.dev.app_id}`, { settings: { checkout_attempts: 1 } });
    await toConfirm(page, url, FAILS);
    const a = await page.locator('input[name=a]').getAttribute('value');
    const body = new URLSearchParams({ a });
    const send = () => fetch(`${url}/confirm`, { method: 'POST', body, redirect: 'manual' });
    await Promise.all(Array.from({ length: 10 }, send));
    for (let more = 0; more < 5; more += 1) await send();
    assert.equal(await attempts(id), 1);
    assert.equal((await server.retrieve(id)).status, 'pending', 'four attempts are left');
  },

  'the back button after paying leads to how it went': async ({ server, context, attempts }) => {
    const page = await context.newPage();
    const { id, checkout_url: url } = await server.initialize();
    await pay(page, url, PAYS);
    await page.getByRole('button', { name: 'Stay on this page' }).click();
    for (let steps = 0; steps < 3; steps += 1) {
      await page.goBack();
      await page.getByRole('heading', { name: 'Payment successful' }).waitFor();
    }
    assert.equal(await attempts(id), 1);
  },

  'the back button before paying keeps what was typed': async ({ server, context }) => {
    const page = await context.newPage();
    const { checkout_url: url } = await server.initialize();
    await toConfirm(page, url, PAYS);
    await page.getByRole('link', { name: 'Change the details' }).click();
    assert.equal(await page.getByLabel(WORDS.en.number).inputValue(), PAYS);
    await page.goBack();
    await page.getByRole('button', { name: WORDS.en.pay }).waitFor();
    assert.ok(!page.url().includes(PAYS), 'the number is in no address');
  },

  'two tabs pay once, and both see it': async ({ server, context, attempts }) => {
    const [first, second] = [await context.newPage(), await context.newPage()];
    const { id, checkout_url: url } = await server.initialize();
    await toConfirm(first, url, STAYS_PENDING);
    await toConfirm(second, url, PAYS, 'fr');
    await first.getByRole('button', { name: WORDS.en.pay }).click();
    await first.waitForURL(/\/wait/);
    await second.getByRole('button', { name: WORDS.fr.pay }).click();
    await second.getByRole('heading', { name: 'Nous attendons votre paiement' }).waitFor();
    assert.equal(await attempts(id), 1);
    assert.match(await second.textContent('main'), /••••\u00a08162/, 'the tab that was quicker counts');
  },

  'cancelled in one tab is cancelled in the other': async ({ server, context }) => {
    const [first, second] = [await context.newPage(), await context.newPage()];
    const { id, checkout_url: url } = await server.initialize();
    await toConfirm(first, url, PAYS);
    await second.goto(`${url}/cancel?lang=en`);
    await second.getByRole('button', { name: /^Yes, cancel/ }).click();
    await second.getByRole('heading', { name: 'Payment cancelled' }).waitFor();
    await first.getByRole('button', { name: WORDS.en.pay }).click();
    await first.getByRole('heading', { name: 'Payment cancelled' }).waitFor();
    assert.equal((await server.retrieve(id)).status, 'cancelled');
  },

  'a payment that has begun cannot be cancelled from an old page': async ({ server, context }) => {
    const [first, second] = [await context.newPage(), await context.newPage()];
    const { id, checkout_url: url } = await server.initialize();
    await first.goto(`${url}/cancel?lang=en`);
    await pay(second, url, STAYS_PENDING);
    await second.waitForURL(/\/wait/);
    await first.getByRole('button', { name: /^Yes, cancel/ }).click();
    await first.getByText('can no longer be cancelled here').waitFor();
    assert.equal((await server.retrieve(id)).status, 'pending');
  },

  'answers to one payment are no answers to another': async ({ server, context }) => {
    const page = await context.newPage();
    const [first, other] = [await server.initialize(), await server.initialize()];
    await toConfirm(page, first.checkout_url, PAYS);
    const a = await page.locator('input[name=a]').getAttribute('value');
    const body = new URLSearchParams({ a });
    const answer = await fetch(`${other.checkout_url}/confirm`, { method: 'POST', body, redirect: 'manual' });
    assert.equal(answer.headers.get('location'), `/checkout/${other.id}?notice=stale`);
    assert.equal((await server.retrieve(other.id)).status, 'initiated');
  },
};

test('buttons, tabs and old pages', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const context = await browser.newContext();
  const attempts = async (id) => {
    const shown = await server.operator('GET', `/operator/v1/transactions/${id}`);
    return JSON.stringify(shown).match(/"attempt_started"/g)?.length;
  };
  for (const [name, does] of Object.entries(HARMLESS)) await t.test(name, () => does({ server, context, attempts }));
});
