// The logo of an app, without script: its upload, errors beside the field, the checkout that shows it, its removal;
// every size, scheme and language.

import assert from 'node:assert/strict';
import test from 'node:test';
import { crc32, deflateSync } from 'node:zlib';

import { axeFindsNothing, pagesFit, printed } from './console-steps.mjs';
import { openBrowser, startServer } from './harness.mjs';

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** A PNG of one colour. */
function png(width, height) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width * 3, Buffer.from([0xc2, 0x41, 0x0c]))]);
  const data = deflateSync(Buffer.concat(Array(height).fill(row)));
  const start = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([start, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

async function upload(page, settings, file) {
  await page.goto(settings);
  const files = { name: 'logo.png', mimeType: 'image/png', buffer: file };
  await page.getByLabel('Picture').setInputFiles(files);
  await page.getByRole('button', { name: 'Upload the logo' }).click();
}

const widthOf = (picture) => picture.evaluate((one) => one.naturalWidth);

async function errorsAreBesideTheField(page, settings) {
  for (const [file, text] of [
    [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), /not a PNG, JPEG or WebP/],
    [png(2_501, 1), /wider or higher than 2.500 pixels/],
    [png(300, 300).subarray(0, 200), /damaged or incomplete/],
    [Buffer.concat([png(9, 9), Buffer.alloc(1 << 20)]), /more than 1024 KiB/],
    [Buffer.concat([png(9, 9), Buffer.alloc(8 << 20)]), /more than 1024 KiB/],
  ]) {
    await upload(page, settings, file);
    const field = page.getByLabel('Picture');
    assert.match(await page.locator('#logo-file-error').innerText(), text);
    assert.match(await field.getAttribute('aria-describedby'), /logo-file-error/);
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
  }
  await page.goto(settings);
  await page.getByRole('button', { name: 'Upload the logo' }).click();
  assert.match(await page.locator('#logo-file-error').innerText(), /Choose a file/);
}

async function theCheckoutShowsIt(context, server) {
  const { id } = await server.initialize();
  const payer = await context.newPage();
  await payer.goto(`${server.base}/checkout/${id}`);
  const logo = payer.locator('.merchant img');
  assert.equal(await widthOf(logo), 320, 'it is reduced');
  const address = new URL(await logo.getAttribute('src'), server.base);
  const { headers } = await fetch(address);
  assert.match(headers.get('cache-control'), /immutable/);
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.match(headers.get('content-security-policy'), /default-src 'none'/);
  await payer.close();
  return address;
}

test('the logo of an app', async (t) => {
  const server = await startServer(t);
  const browser = await openBrowser(t);
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en', bypassCSP: true });
  const page = await context.newPage();
  const settings = `${server.base}/console/apps/${server.dev.app_id}/sandbox/settings`;
  await page.goto(printed(server, 'owner'));

  await t.test('a file that is no logo is refused beside the field', () => errorsAreBesideTheField(page, settings));
  await pagesFit(page, { 'logo-none': settings });
  await page.goto(`${settings}?lang=en`);
  let address;
  await t.test('an uploaded logo is shown in the preview and on the checkout', async () => {
    await upload(page, settings, png(1_280, 200));
    await page.getByText('The logo was saved.').waitFor();
    assert.equal(await widthOf(page.locator('.preview img')), 320);
    address = await theCheckoutShowsIt(context, server);
  });
  await t.test('pages fit, in both languages', () => pagesFit(page, { logo: settings }));
  await t.test('axe finds nothing', () => axeFindsNothing(browser, context, { logo: settings }));
  await t.test('it is removed', async () => {
    await page.goto(`${settings}?lang=en`);
    await page.getByRole('button', { name: 'Remove the logo' }).click();
    await page.getByText('The logo was removed.').waitFor();
    assert.equal(await page.locator('.preview img').count(), 0);
    assert.equal((await fetch(address)).status, 404);
  });
});
