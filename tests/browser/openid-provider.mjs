// An OpenID Connect provider for the tests: the certified npm package `oidc-provider`, with a page
// on which the test chooses the account.

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { packages } from './harness.mjs';

export const CLIENT_ID = 'switchyard';
export const CLIENT_SECRET = 'a secret of the tests that no provider knows';

/** Accounts by the name that is entered: the claims that the provider has about them. */
const accounts = {
  olivia: { email: 'owner@example.com', email_verified: true },
  'other-olivia': { email: 'owner@example.com', email_verified: true },
  unverified: { email: 'operator@example.com', email_verified: false },
  silent: { email: 'operator@example.com' },
  stranger: { email: 'nobody@example.com', email_verified: true },
};

const form = (uid) => `<!doctype html><html lang="en"><title>Provider</title><h1>Provider</h1>
<form method="post" action="/interaction/${uid}">
<label>Account <input name="account"></label><label><input type="checkbox" name="strong">Second factor</label>
<button>Log in</button></form><a href="/interaction/${uid}/abort">Cancel</a>`;

async function body(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return new URLSearchParams(Buffer.concat(parts).toString());
}

/** A grant of everything that is asked for: the test is not about consent. */
async function grantAll(context) {
  const grant = new context.oidc.provider.Grant({ clientId: context.oidc.client.clientId, accountId: context.oidc.session.accountId });
  grant.addOIDCScope('openid email profile');
  await grant.save();
  return grant;
}

/** A new key with which the provider signs. */
function newKey() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: randomUUID() };
}

function configuration(returnUrl) {
  const client = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [returnUrl] };
  return {
    clients: [client],
    claims: { openid: ['sub', 'amr'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['for the tests'] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, ...accounts[sub] }) }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    jwks: { keys: [newKey()] },
    loadExistingGrant: grantAll,
    pkce: { required: () => true },
  };
}

/** The page on which the account is chosen, or cancelled. */
async function interact(provider, request, response) {
  const [, , uid, action] = request.url.split('/');
  if (action === 'abort') {
    return provider.interactionFinished(request, response, { error: 'access_denied' });
  }
  if (request.method === 'GET') {
    response.setHeader('content-type', 'text/html');
    return response.end(form(uid));
  }
  const given = await body(request);
  const amr = given.has('strong') ? ['pwd', 'mfa'] : ['pwd'];
  const login = { accountId: given.get('account'), amr, acr: given.has('strong') ? 'strong' : 'weak' };
  return provider.interactionFinished(request, response, { login });
}

/**
 * Starts a provider on a free port. It answers once `register` has named the redirect URI, and ends
 * with the test `t`.
 */
export async function startProvider(t) {
  const entry = join(packages, 'node_modules/oidc-provider/lib/index.js');
  const { default: Provider } = await import(pathToFileURL(entry));
  const state = { provider: undefined, hangs: false };
  const server = createServer((request, response) => {
    if (state.hangs) return;
    if (request.url.startsWith('/interaction/')) {
      interact(state.provider, request, response).catch((error) => response.destroy(error));
      return;
    }
    state.provider.callback()(request, response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${server.address().port}`;
  return {
    issuer,
    /** Starts the provider, with new keys when it is called again. */
    register: (returnUrl) => {
      state.provider = new Provider(issuer, configuration(returnUrl));
    },
    hang: (hangs) => {
      state.hangs = hangs;
    },
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
