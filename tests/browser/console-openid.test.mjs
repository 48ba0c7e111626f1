// Sign-in to the console by an OpenID Connect provider, without script: first sign-in, refusals, a
// confirmation, a return in another browser, and a provider that does not answer.

import assert from 'node:assert/strict';
import test from 'node:test';

import { axeFindsNothing, pagesFit, printed } from './console-steps.mjs';
import { openBrowser, startServer } from './harness.mjs';
import { CLIENT_ID, CLIENT_SECRET, startProvider } from './openid-provider.mjs';

const RETURN = '/console/sign-in/openid/return';

/** A provider and a server that signs in by it. `settings` are further environment variables. */
async function startBoth(t, settings = {}) {
  const provider = await startProvider(t);
  const server = await startServer(t, {
    SWITCHYARD_OPENID__ISSUER: provider.issuer,
    SWITCHYARD_OPENID__CLIENT_ID: CLIENT_ID,
    SWITCHYARD_OPENID__CLIENT_SECRET: CLIENT_SECRET,
    SWITCHYARD_OPENID__NAME: 'Example Ltd',
    ...settings,
  });
  provider.register(`${server.base}${RETURN}`);
  return { provider, server };
}

/** A visitor without script and without cookies. */
async function visitor(browser, locale = 'en') {
  const context = await browser.newContext({ javaScriptEnabled: false, locale });
  return { context, page: await context.newPage() };
}

async function logIn(page, account, strong = false) {
  await page.getByRole('heading', { name: 'Provider' }).waitFor();
  await page.getByLabel('Account').fill(account);
  if (strong) await page.getByLabel('Second factor').check();
  await page.getByRole('button', { name: 'Log in' }).click();
}

async function signIn(page, server, account, path = '/console/sign-in') {
  await page.goto(`${server.base}${path}`);
  await page.getByRole('link', { name: 'Sign in with Example Ltd' }).click();
  await logIn(page, account);
}

async function refused(browser, server, account, message) {
  const { context, page } = await visitor(browser);
  await signIn(page, server, account);
  await page.getByRole('alert').waitFor();
  assert.match(await page.getByRole('alert').innerText(), message, account);
  assert.match(page.url(), /\/console\/sign-in\?notice=/);
  await page.goto(`${server.base}/console/account`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await context.close();
}

test('a user signs in by the provider and comes back to the page they asked for', async (t) => {
  const { server } = await startBoth(t);
  const browser = await openBrowser(t);
  const { context, page } = await visitor(browser);
  await signIn(page, server, 'olivia', '/console/account');
  await page.getByText('owner@example.com').first().waitFor();
  assert.equal(new URL(page.url()).pathname, '/console/account');
  const cookies = await context.cookies(server.base);
  // The provider is on the same host, and so are its cookies.
  const ours = cookies.map(({ name }) => name).filter((name) => name.startsWith('switchyard'));
  assert.deepEqual(ours, ['switchyard_session'], 'the cookie of the sign-in is gone');
  await page.getByRole('button', { name: 'Sign out' }).first().click();
  await page.getByText('You have signed out.').waitFor();
  await context.close();
  await refused(browser, server, 'other-olivia', /signs in with another account at Example Ltd/);
  await refused(browser, server, 'unverified', /Example Ltd has not verified your e-mail address/);
  await refused(browser, server, 'silent', /Example Ltd has not verified your e-mail address/);
  await refused(browser, server, 'stranger', /No user of this console has your e-mail address/);
  const signInPage = { 'sign-in-openid': `${server.base}/console/sign-in` };
  const shown = await visitor(browser);
  await pagesFit(shown.page, signInPage);
  await axeFindsNothing(browser, shown.context, signInPage);
});

test('a return is for one browser, once, and a cancelled sign-in says so in French', async (t) => {
  const { server } = await startBoth(t, { SWITCHYARD_OPENID__TRUST_EMAIL: 'true' });
  const browser = await openBrowser(t);
  const first = await visitor(browser);
  let back;
  first.page.on('request', (request) => {
    if (request.url().includes(`${RETURN}?`)) back = request.url();
  });
  await signIn(first.page, server, 'olivia');
  await first.page.getByRole('heading', { name: 'Apps' }).waitFor();
  await first.context.clearCookies();
  await first.page.goto(back);
  await first.page.getByText('was not completed in this browser').waitFor();
  // The link of a sign-in that another browser has begun: the cookie is not there.
  const other = await visitor(browser);
  await other.page.goto(`${server.base}/console/sign-in`);
  await other.page.getByRole('link', { name: 'Sign in with Example Ltd' }).click();
  await other.page.getByRole('heading', { name: 'Provider' }).waitFor();
  await other.context.clearCookies({ name: 'switchyard_openid' });
  await logIn(other.page, 'olivia');
  await other.page.getByText('was not completed in this browser').waitFor();
  const silent = await visitor(browser);
  await signIn(silent.page, server, 'silent', '/console/account');
  await silent.page.getByText('operator@example.com').first().waitFor();
  await refused(browser, server, 'unverified', /Example Ltd has not verified your e-mail address/);
  const french = await visitor(browser, 'fr');
  await french.page.goto(`${server.base}/console/sign-in`);
  await french.page.getByRole('link', { name: 'Se connecter avec Example Ltd' }).click();
  await french.page.getByRole('link', { name: 'Cancel' }).click();
  await french.page.getByText('Personne').waitFor();
});

test('a user confirms at the provider, and not as another account', async (t) => {
  const { server } = await startBoth(t);
  const browser = await openBrowser(t);
  const { page } = await visitor(browser);
  await page.goto(printed(server, 'owner'));
  await page.goto(`${server.base}/console/confirm`);
  assert.equal(await page.getByRole('link', { name: /Example Ltd/ }).count(), 0, 'nothing is bound yet');
  await page.goto(`${server.base}/console/account`);
  await page.getByRole('button', { name: 'Sign out' }).first().click();
  await signIn(page, server, 'olivia');
  await page.goto(`${server.base}/console/confirm?next=/console/account`);
  await page.getByRole('link', { name: 'Confirm with Example Ltd' }).click();
  // The provider ends the session of the first account before it begins another one.
  await logIn(page, 'other-olivia');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('belongs to another user').waitFor();
  await page.getByRole('link', { name: 'Confirm with Example Ltd' }).click();
  await logIn(page, 'olivia');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('owner@example.com').first().waitFor();
  assert.equal(new URL(page.url()).pathname, '/console/account');
});

test('new keys of the provider are fetched, and a provider that is away is named', async (t) => {
  const { provider, server } = await startBoth(t);
  const browser = await openBrowser(t);
  const { page } = await visitor(browser);
  provider.hang(true);
  await page.goto(`${server.base}/console/sign-in`);
  const begun = Date.now();
  await page.getByRole('link', { name: 'Sign in with Example Ltd' }).click();
  await page.getByText('Example Ltd does not answer').waitFor();
  assert.ok(Date.now() - begun < 20_000, 'the page does not hang');
  provider.hang(false);
  await signIn(page, server, 'olivia');
  await page.getByRole('heading', { name: 'Apps' }).waitFor();
  provider.register(`${server.base}${RETURN}`);
  await page.context().clearCookies();
  await signIn(page, server, 'olivia');
  await page.getByRole('heading', { name: 'Apps' }).waitFor();
  await page.goto(`${server.base}/console/account`);
  await page.getByRole('button', { name: 'Sign out' }).first().click();
  provider.stop();
  await page.goto(`${server.base}/console/sign-in`);
  await page.getByLabel('E-mail').fill('owner@example.com');
  await page.getByLabel('Password').fill('violet-teapots-locally');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'Apps' }).waitFor();
});
