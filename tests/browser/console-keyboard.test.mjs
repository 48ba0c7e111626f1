// The commonest tasks in the console by keyboard alone, with and without script, in a wide and in a narrow
// window: each element is reached by Tab, Shift+Tab or an arrow, shows that it has the focus, and is in view.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import test from 'node:test';

import { pay } from './checkout-steps.mjs';
import { SIZES } from './console-steps.mjs';
import { eventually, openBrowser, PAYS, startServer, STAYS_PENDING } from './harness.mjs';

/** Password of the seeded users in development mode. */
const PASSWORD = 'violet-teapots-locally';
/** An element that takes more presses of a key than this is not reachable in practice. */
const MOST_PRESSES = 80;
const BACK = { Tab: 'Shift+Tab', 'Shift+Tab': 'Tab' };

/** What a focus indicator changes of an element's edge. */
function edge(element) {
  const { outlineStyle, outlineWidth, outlineColor, boxShadow } = getComputedStyle(element);
  const isDrawn = outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1 && outlineColor !== 'rgba(0, 0, 0, 0)';
  return { outline: isDrawn ? `${outlineStyle} ${outlineWidth} ${outlineColor}` : 'none', boxShadow };
}

/** Whether an element has the focus, and what has it instead. */
function focusOn(element) {
  const active = document.activeElement;
  const named = active.getAttribute('aria-label') ?? active.labels?.[0]?.innerText ?? active.innerText ?? '';
  return { isHere: active === element, other: `${active.localName} "${named.trim().slice(0, 60)}"` };
}

/** Where the first line of an element is: `inside` the window with nothing over its middle, or what is wrong. */
function position(element) {
  const [{ top, bottom, left, right }] = element.getClientRects();
  if (top < 0 || left < 0 || bottom > innerHeight || right > innerWidth) return `outside: ${[top, bottom, left, right]}`;
  const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return element.contains(over) ? 'inside' : `below ${over?.outerHTML.slice(0, 80)}`;
}

/** Presses `key` until an element has the focus. It must then look different from before, and be in view. */
async function reach(page, locator, key = 'Tab') {
  await locator.waitFor();
  const wanted = await locator.elementHandle();
  if ((await wanted.evaluate(focusOn)).isHere) await page.keyboard.press(BACK[key]);
  const without = await wanted.evaluate(edge);
  const passed = [];
  for (let presses = 0; ; presses += 1) {
    const { isHere, other } = await wanted.evaluate(focusOn);
    if (isHere) break;
    passed.push(other);
    assert.ok(presses < MOST_PRESSES, `${locator} is not reached by ${key} on ${page.url()}; passed:\n${passed.join('\n')}`);
    await page.keyboard.press(key);
  }
  assert.notDeepEqual(await wanted.evaluate(edge), without, `${locator} on ${page.url()} shows no focus`);
  assert.equal(await wanted.evaluate(position), 'inside', `${locator} on ${page.url()}`);
}

/** Reaches an element and presses a key on it, until `result` is shown, which was not there before. */
async function press(page, wanted, result, { key = 'Enter', by = 'Tab' } = {}) {
  await reach(page, wanted, by);
  assert.equal(await result.count(), 0, `${result} is there before ${key} on ${wanted}`);
  await page.keyboard.press(key);
  await result.first().waitFor();
  await page.waitForLoadState();
}

/** Reaches a field and types over what it holds. */
async function type(page, field, text) {
  await reach(page, field);
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.type(text);
  assert.equal(await field.inputValue(), text);
}

/** Presses the down arrow until `isDone`. */
async function arrowDown(page, what, isDone) {
  for (let presses = 0; !(await isDone()); presses += 1) {
    assert.ok(presses < MOST_PRESSES, `${what}: not by the down arrow on ${page.url()}`);
    await page.keyboard.press('ArrowDown');
  }
}

/** Chooses an option of a list by the first letters of its name. */
async function select(page, list, letters, name) {
  await reach(page, list);
  await page.keyboard.type(letters);
  assert.equal(await list.locator('option:checked').innerText(), name);
}

/** Chooses a radio button: Tab leads to the chosen one of the group, arrows to the others. */
async function pick(page, group, name) {
  const wanted = group.getByRole('radio', { name });
  await reach(page, group.getByRole('radio', { checked: true }));
  const without = await wanted.evaluate(edge);
  await arrowDown(page, `${name} is chosen`, () => wanted.isChecked());
  assert.notDeepEqual(await wanted.evaluate(edge), without, `${name} shows no focus`);
  assert.equal(await wanted.evaluate(position), 'inside', name);
}

const link = (page, name) => page.getByRole('link', { name, exact: true });
const button = (page, name) => page.getByRole('button', { name, exact: true });
const heading = (page, name) => page.getByRole('heading', { name, exact: true, level: 1 });

/** Opens a page by the navigation that is shown with every page. */
async function visit(page, name, title = name) {
  await press(page, link(page.getByRole('navigation', { name: /pages$/i }), name), heading(page, title));
}

/** Opens the page of a new thing by the link in the head of a list. */
const openNew = (page, name) => press(page, link(page.locator('main'), name), heading(page, name));

/** The code that an authenticator with this key shows in a period of 30 seconds from now (RFC 6238). */
function code(key, later = 0) {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...key].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const period = Buffer.alloc(8);
  period.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later));
  const hash = createHmac('sha1', Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)))).update(period).digest();
  const number = hash.readUInt32BE(hash[19] & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

async function givePassword(page, email, result) {
  await type(page, page.getByLabel('E-mail'), email);
  await type(page, page.getByLabel('Password'), PASSWORD);
  await press(page, page.getByLabel('Password'), result);
}

/** Adds a second factor. Returns the key of the authenticator. */
async function aSecondFactorIsSetUp(page) {
  await visit(page, 'Account');
  await press(page, link(page, 'Set up'), page.getByText('Set up your authenticator app'));
  const key = await page.locator('main p code').innerText();
  await type(page, page.getByRole('textbox', { name: 'Code' }), code(key));
  await press(page, button(page, 'Confirm'), heading(page, 'Your recovery codes'));
  await press(page, link(page, 'I have stored them'), heading(page, 'Account'));
  return key;
}

/** Signs out from the page of the account. */
const signOut = (page) => press(page, button(page, 'Sign out'), page.getByText('You have signed out.'));

async function signInWithASecondFactor(page) {
  const apps = heading(page, 'Apps');
  await givePassword(page, 'owner@example.com', apps);
  const key = await aSecondFactorIsSetUp(page);
  await signOut(page);
  await givePassword(page, 'owner@example.com', heading(page, 'Confirm that it is you'));
  // The period of the set-up has been used.
  await type(page, page.getByRole('textbox', { name: 'Code' }), code(key, 1));
  await press(page, button(page, 'Sign in'), apps);
}

async function aPaymentIsFound(page) {
  await press(page, page.locator('tbody').getByRole('link').first(), heading(page, 'Home'));
  await visit(page, 'Payments');
  assert.equal(await page.locator('a.open').count(), 2);
  await press(page, link(page, 'Skip to content'), page.locator('main:focus'));
  await type(page, page.getByRole('searchbox'), 'grace@example.com');
  await press(page, page.getByRole('searchbox'), link(page, 'Show all').first());
  assert.equal(await page.locator('a.open').count(), 1);
}

async function itsTimelineIsRead(page) {
  const timeline = page.getByRole('heading', { name: /^Timeline/ });
  await press(page, page.locator('a.open'), timeline);
  for (const entry of ['Your server created it', 'The payer confirmed', 'Attempt started', 'The provider is working on it']) {
    const line = page.locator('.timeline li', { hasText: entry }).first();
    await arrowDown(page, `${entry} is in view`, async () => (await line.evaluate(position)) === 'inside');
  }
}

async function theProviderIsAsked(page) {
  await press(page, button(page, 'Query the provider now'), page.getByText(/^The provider (has answered|was asked)/), { key: 'Space' });
}

async function paymentsAreExported(page) {
  await visit(page, 'Payments');
  await press(page, page.getByText('Export as CSV'), button(page, 'Download'));
  const column = page.getByRole('checkbox', { name: 'metadata' });
  await reach(page, column);
  await page.keyboard.press('Space');
  assert.equal(await column.isChecked(), false);
  await reach(page, button(page, 'Download'));
  const download = page.waitForEvent('download');
  await page.keyboard.press('Enter');
  const lines = (await readFile(await (await download).path(), 'utf8')).trim().split('\r\n');
  assert.match(lines[0], /^id,status,amount,currency,/);
  assert.doesNotMatch(lines[0], /metadata/);
  assert.equal(lines.length, 3);
}

async function aPayoutIsCreated(page) {
  await visit(page, 'Payouts');
  await openNew(page, 'New payout');
  await select(page, page.getByLabel('Method'), 'Test', 'Test payment (United States)');
  await press(page, button(page, 'Choose'), page.getByLabel('Amount'));
  await type(page, page.getByLabel('Amount'), '12.50');
  await type(page, page.getByLabel('Account number'), PAYS);
  await type(page, page.getByLabel('First name'), 'Awa');
  await type(page, page.getByLabel('Last name'), 'Diop');
  await type(page, page.getByLabel('E-mail'), 'awa@example.com');
  await type(page, page.getByLabel('Description'), 'Wages of May');
  await press(page, page.getByLabel('Description'), heading(page, 'Review the payout'));
  await press(page, button(page, 'Change'), page.getByLabel('Amount'));
  await type(page, page.getByLabel('Amount'), '25');
  await press(page, button(page, 'Review'), heading(page, 'Review the payout'));
  await press(page, button(page, 'Send the payout'), page.getByText('The payout was created.'));
  await page.getByText('USD 25.00').first().waitFor();
}

/** Reads the text of a field that is selected when Tab reaches it, so that it can be copied. */
async function selectedText(page, field) {
  await reach(page, field);
  return field.evaluate((input) => input.value.slice(input.selectionStart, input.selectionEnd));
}

async function aKeyIsCreated(page, server) {
  await visit(page, 'Developers', 'API keys');
  await openNew(page, 'New API key');
  await type(page, page.getByLabel('Name'), 'Shop server');
  await pick(page, page.getByRole('group', { name: 'Kind' }), /^Public/);
  await pick(page, page.getByRole('group', { name: 'Kind' }), /^Secret/);
  await press(page, button(page, 'Create the key'), page.getByLabel('API key', { exact: true }));
  const key = await selectedText(page, page.getByLabel('API key', { exact: true }));
  const { status } = await fetch(`${server.base}/v1/payments`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(status, 200);
  await press(page, link(page, 'I have stored it'), heading(page, 'API keys'));
  assert.equal((await page.content()).includes(key), false, 'it is shown once');
}

async function aWebhookIsTested(page, receiver) {
  await press(page, link(page, 'Webhooks'), heading(page, 'Webhooks'));
  await openNew(page, 'New webhook');
  await type(page, page.getByLabel('URL'), receiver.url);
  await press(page, page.getByLabel('URL'), page.getByText('The webhook was created.'));
  await select(page, page.getByLabel('Event', { exact: true }), 'payment.i', 'payment.initiated');
  await press(page, button(page, 'Create the event'), page.getByText('The event was created.'));
  await eventually('the event arrives', () => receiver.received.some((body) => body.includes('payment.initiated')));
}

async function aPersonIsInvited(page, server) {
  await visit(page, 'Team');
  await openNew(page, 'Invite a person');
  await type(page, page.getByLabel('E-mail'), 'grace@example.com');
  await type(page, page.getByLabel('Name', { exact: true }), 'Grace Hopper');
  await pick(page, page.getByRole('group', { name: 'Role' }), /^Support/);
  await press(page, button(page, 'Invite a person'), page.getByLabel('Invitation link'));
  const invitation = await selectedText(page, page.getByLabel('Invitation link'));
  assert.ok(invitation.startsWith(`${server.base}/console/`));
  await press(page, link(page, 'I have copied it'), page.getByText('Open invitations'));
}

/** A wide window has the languages at the end of each page. */
async function theLanguageIsChangedByLink(page) {
  await press(page, link(page, 'Français'), page.locator('html[lang=fr]'), { by: 'Shift+Tab' });
  await press(page, link(page, 'English'), page.locator('html[lang=en]'), { by: 'Shift+Tab' });
}

async function theLanguageOfTheUserIsChanged(page) {
  const french = page.locator('html[lang=fr]');
  await visit(page, 'Account');
  await select(page, page.getByRole('combobox', { name: 'Language' }), 'F', 'Français');
  await press(page, button(page, 'Save'), french);
  await select(page, page.getByRole('combobox', { name: 'Langue' }), 'E', 'English');
  await press(page, button(page, 'Enregistrer'), page.locator('html[lang=en]'));
}

async function aCaseIsClosed(page) {
  await givePassword(page, 'operator@example.com', heading(page, 'Installation'));
  await visit(page, 'Cases');
  const name = 'The provider has an attempt that counted as not sent';
  await press(page, link(page, name), heading(page, name));
  await type(page, page.getByLabel('Note'), 'Nothing was paid');
  await press(page, button(page, 'Close the case'), page.getByText('The case is closed.'));
}

/** A merchant's server that takes every event. */
async function startReceiver(t) {
  const receiver = { received: [] };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => { body += part; });
    request.on('end', () => { receiver.received.push(body); response.end(); });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  receiver.url = `http://127.0.0.1:${server.address().port}/hooks`;
  return receiver;
}

/** Two payments, one of them pending at its provider. */
async function makePayments(server, browser) {
  const page = await browser.newPage({ locale: 'en' });
  await server.initialize();
  const customer = { email: 'grace@example.com', first_name: 'Grace', last_name: 'Hopper' };
  const { id, checkout_url: url } = await server.initialize({ customer });
  await pay(page, url, STAYS_PENDING);
  await page.close();
  return id;
}

/** Has an operator call a payment failed that its provider still has, which opens a case. */
async function openCase(server, id) {
  const path = `/operator/v1/transactions/${id}`;
  await server.operator('POST', `${path}/resolve`, { outcome: 'failed', note: 'The support said so' });
  await eventually('the case', async () => (await server.operator('POST', `${path}/check`, {})).cases[0]);
}

/** A page at 400 % is laid out like one on a phone. */
const FORMS = {
  'with script, in a wide window': { viewport: SIZES.desktop },
  'without script, in a narrow window': { viewport: SIZES.phone, javaScriptEnabled: false },
};

for (const [form, options] of Object.entries(FORMS)) {
  test(`the commonest tasks by keyboard, ${form}`, async (t) => {
    const server = await startServer(t);
    const browser = await openBrowser(t);
    const receiver = await startReceiver(t);
    const pending = await makePayments(server, browser);
    const page = await (await browser.newContext({ locale: 'en', ...options })).newPage();
    await page.goto(`${server.base}/console/`);

    await t.test('sign in with a second factor', () => signInWithASecondFactor(page));
    await t.test('find a payment by search', () => aPaymentIsFound(page));
    await t.test('read the timeline of a payment', () => itsTimelineIsRead(page));
    await t.test('query the provider now', () => theProviderIsAsked(page));
    await t.test('export payments as CSV', () => paymentsAreExported(page));
    await t.test('create a payout', () => aPayoutIsCreated(page));
    await t.test('create an API key', () => aKeyIsCreated(page, server));
    await t.test('create a webhook and send a test event', () => aWebhookIsTested(page, receiver));
    await t.test('invite a person', () => aPersonIsInvited(page, server));
    if (options.viewport === SIZES.desktop) await t.test('change the language', () => theLanguageIsChangedByLink(page));
    await t.test('change the language of the user', () => theLanguageOfTheUserIsChanged(page));
    await t.test('sign out', () => signOut(page));
    await openCase(server, pending);
    await t.test('close a case with a note', () => aCaseIsClosed(page));
  });
}
