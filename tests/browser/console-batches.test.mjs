// Batches of payouts in the console, without script: a file with problems, a good one, its confirmation
// and the progress of its lines.

import assert from 'node:assert/strict';
import test from 'node:test';

import { axeFindsNothing, pagesFit, printed } from './console-steps.mjs';
import { FAILS, PAYS, STAYS_PENDING, eventually, openBrowser, screenshotPath, startServer } from './harness.mjs';

const HEADING = 'amount;currency;method;description;first_name;last_name;email;account_number;reference';

function line(amount, number, reference, name = 'Awa') {
  return `${amount};USD;switchyard_payout_demo;Wages of May;${name};Diop;awa@example.com;${number};${reference}`;
}

function file(name, lines) {
  return { name, mimeType: 'text/csv', buffer: Buffer.from(`${HEADING}\n${lines.join('\n')}\n`) };
}

async function upload(page, list, sent) {
  await page.goto(list);
  await page.getByLabel('File').setInputFiles(sent);
  await page.getByRole('button', { name: 'Check the file' }).click();
}

test('a batch of payouts is checked, corrected, confirmed and followed, without script', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en' });
  const page = await context.newPage();
  await page.goto(printed(server, 'owner'));
  const app = `${server.base}/console/apps/${server.dev.app_id}/sandbox`;
  await page.goto(`${app}/payouts`);
  await page.getByRole('link', { name: 'Batches of payouts' }).click();
  const list = page.url();

  await upload(page, list, file('may.csv', [line('many', PAYS, 'a'), line('25', '', 'b'), line('25', PAYS, 'a')]));
  await page.getByText('3 problems').waitFor();
  await page.getByText('Line 2 has this reference too.').waitFor();
  for (const width of [360, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.locator('html').evaluate((root) => root.scrollWidth - root.clientWidth);
    assert.equal(wide, 0, `problems at ${width}`);
    await page.screenshot({ path: screenshotPath(`console-batch-problems-${width}`), fullPage: true });
  }
  await page.getByText('There is nothing here yet.').waitFor();

  const long = 'A very long name of a person that nobody shortens '.repeat(2).trim();
  const good = [line('25', PAYS, 'a', long), line('1250.50', FAILS, 'b'), line('25', STAYS_PENDING, 'c')];
  await upload(page, list, file('may.csv', good));
  await page.getByText('The file has no problems.').waitFor();
  await page.getByText('1\u00a0300.50').first().waitFor();
  const batch = page.url();
  await page.goto(batch);
  await page.getByRole('button', { name: 'Order all payouts' }).waitFor();
  const review = { batches: list, 'batch-review': batch };
  await pagesFit(page, review);
  await axeFindsNothing(browser, context, review);

  await page.goto(`${batch}?lang=en`);
  await page.getByRole('button', { name: 'Order all payouts' }).click();
  await page.getByText('The payouts are being ordered.').waitFor();
  await page.goBack();
  await eventually('all lines', async () => {
    await page.goto(batch);
    const text = await page.locator('main').innerText();
    return text.includes('All lines were ordered') && /Succeeded/.test(text) && /Sent/.test(text);
  });
  await upload(page, list, file('june.csv', [line('25', PAYS, 'a')]));
  await page.getByText(/The payout po_\w+ has this reference/).waitFor();
  const after = { 'batch-progress': batch };
  await pagesFit(page, after);
  await axeFindsNothing(browser, context, after);
  await page.goto(`${batch}?lang=en`);
  await page.getByRole('link', { name: '2', exact: true }).first().click();
  assert.match(page.url(), /\/payouts\/po_/);
});
