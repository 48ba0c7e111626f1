// An invitation of a person who is a user already: they accept it in their own session.

import assert from 'node:assert/strict';
import test from 'node:test';

import { axeFindsNothing, pagesFit, printed } from './console-steps.mjs';
import { openBrowser, startServer } from './harness.mjs';

test('a user accepts one more role in their own session, without script', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en' });
  const page = await context.newPage();
  await page.goto(printed(server, 'owner'));
  await page.goto(`${server.base}/console/account`);
  const email = (await page.locator('main').innerText()).match(/\S+@\S+/)[0];
  const account = await server.operator('POST', '/operator/v1/accounts', { name: 'Second shop' });
  const invited = { email, name: 'Olivia Owner', account: account.id };
  const { url: link } = await server.operator('POST', '/operator/v1/users', invited);

  const stranger = await (await browser.newContext({ locale: 'en' })).newPage();
  await stranger.goto(link);
  await stranger.getByText('Sign in to see your invitation.').waitFor();

  const pages = { invitation: link };
  await pagesFit(page, pages);
  await axeFindsNothing(browser, context, pages);
  await page.goto(`${link}?lang=en`);
  await page.getByText('You are invited into the account Second shop.').waitFor();
  await page.getByRole('button', { name: 'Accept the invitation' }).click();
  await page.waitForURL(`${server.base}/console/`);
  await page.goto(link);
  await page.getByRole('heading', { name: 'This link does not work any more' }).waitFor();
  await page.goto(`${server.base}/console/account`);
  assert.match(await page.locator('main').innerText(), new RegExp(email), 'the session goes on');
});
