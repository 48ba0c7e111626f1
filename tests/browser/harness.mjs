// Shared parts of the browser tests: a real server, a real Chromium, and the merchant's side of the
// API.
//
// `cargo xtask test browser` sets what is needed and runs every `*.test.mjs` of this folder. By
// hand, after one such run: `node --test tests/browser/NAME.test.mjs`.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const stage = process.env.SWITCHYARD_STAGE ?? join(root, 'target/stage/debug');
export const packages = process.env.SWITCHYARD_NPM_PACKAGES ?? join(root, 'target/tools/browser');
const executablePath = process.env.SWITCHYARD_CHROMIUM ?? '/usr/bin/chromium';

/** The folder of the gateways that a server gets. */
export const stagedGateways = join(stage, 'gateways');

/** The folder of all programs that cargo built. */
export const programs = join(stage, '../../debug');

const require = createRequire(join(packages, 'here.cjs'));
const { chromium } = require('playwright-core');

/** The test gateway's numbers for payments (docs/contract/test-gateway.md), by their result. */
export const PAYS = '4149518161';
export const STAYS_PENDING = '4149518162';
export const FAILS = '4149518163';

const READY_WITHIN_MS = 60_000;

/**
 * Starts a server in development mode on a free port and a folder of its own.
 * `settings` are environment variables, which override the server's settings; `more` are further
 * options of the command. It ends with the test `t`.
 */
export async function startServer(t, settings = {}, more = []) {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-browser-'));
  const data = join(folder, 'data');
  const log = join(folder, 'server.log');
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const out = openSync(log, 'a');
  const flags = ['--development', '--data', data, '--gateways', join(stage, 'gateways'), '--port', port, '--rate-limit', 0];
  const server = spawn(join(stage, 'switchyard'), ['serve', ...flags.map(String), ...more], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', out, out],
  });
  const ended = new Promise((resolve) => {
    server.on('exit', resolve);
    server.on('error', resolve);
  });
  t.after(async () => {
    server.kill('SIGKILL');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  await untilReady(base, server, () => readFileSync(log, 'utf8'));
  const dev = JSON.parse(readFileSync(join(data, 'dev.json'), 'utf8'));
  const operator = (method, path, body) => call(base, dev.operator_token, method, path, body);
  return { base, dev, data, log: () => readFileSync(log, 'utf8'), operator, ...merchant(base, dev.sandbox_secret_key) };
}

/** `data` of a good answer; any other fails the test. */
async function call(base, key, method, path, body) {
  const headers = { authorization: `Bearer ${key}`, accept: 'application/json', 'content-type': 'application/json' };
  const answer = await fetch(base + path, { method, headers, body: body && JSON.stringify(body) });
  const envelope = await answer.json();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${JSON.stringify(envelope)}`);
  return envelope.data;
}

/** The API as the merchant's server calls it. */
function merchant(base, key) {
  const payment = {
    amount: 25,
    currency: 'USD',
    description: 'A teapot',
    return_url: `${base}/healthz?order=7`,
    customer: { email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace' },
    methods: ['switchyard_payment_demo'],
  };
  return {
    /** `{id, checkout_url}` of a new payment; `changes` override fields of the smallest one. */
    initialize: (changes = {}) => call(base, key, 'POST', '/v1/payments/initialize', { ...payment, ...changes }),
    retrieve: (id) => call(base, key, 'GET', `/v1/payments/${id}`),
    verify: (id) => call(base, key, 'GET', `/v1/payments/${id}/verify`),
  };
}

/** A Chromium that ends with the test. `browser.newContext({ javaScriptEnabled, locale })` is one visitor. */
export async function openBrowser(t) {
  // As root in a container there is no sandbox to be had; the rest keeps it from talking to anybody
  // but our server.
  const quiet = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
  const args = [...quiet, '--disable-component-update', '--disable-sync'];
  const browser = await chromium.launch({ executablePath, args, headless: true });
  t.after(() => browser.close());
  return browser;
}

/** Finds what assistive technology would stumble over; the page must allow the injected script (`bypassCSP: true`). */
export async function accessibilityProblems(page) {
  await page.addScriptTag({ path: require.resolve('axe-core/axe.min.js') });
  const found = await page.evaluate(() => globalThis.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'] }));
  return found.violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** Asks until the answer is there; fails with what was waited for. */
export async function eventually(what, ask, withinMs = 20_000) {
  const end = Date.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    assert.ok(Date.now() < end, `${what}: not within ${withinMs} ms`);
    await sleep(50);
  }
}

/** Where screenshots go: `target/screenshots/NAME.png`, to be looked at, never compared. */
export function screenshotPath(name) {
  const folder = join(root, 'target/screenshots');
  mkdirSync(folder, { recursive: true });
  return join(folder, `${name}.png`);
}

/** Where a picture of the documentation goes: into `docs/images` when they are made anew. */
export function picturePath(name) {
  return process.env.UPDATE_PICTURES ? join(root, `docs/images/${name}.png`) : screenshotPath(`picture-${name}`);
}

async function untilReady(base, server, log) {
  await eventually(
    `${base} is ready`,
    async () => {
      assert.equal(server.exitCode, null, `the server ended; its log:\n${log()}`);
      return fetch(`${base}/readyz`).then((answer) => answer.ok, () => false);
    },
    READY_WITHIN_MS,
  );
}

/** A port that was free a moment ago. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
