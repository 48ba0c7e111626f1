// Signs and verifies as pawaPay's own example does: with the npm package http-message-signatures,
// which knows nothing of our code. One JSON object on standard input, one on standard output.

import { createHash, createPublicKey, createSign, createVerify, generateKeyPairSync } from 'node:crypto';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(`${process.env.SWITCHYARD_NPM_PACKAGES}/package.json`);
const { httpbis } = require('http-message-signatures');

const fields = ['@method', '@authority', '@path', 'signature-date', 'content-digest', 'content-type'];
// The messages are of the tests' time, not of this machine's.
const tolerance = 10 * 365 * 24 * 60 * 60;

/** Is this callback's signature the key's? Signatures are in DER, which is what `createVerify` takes. */
async function verify({ url, letter, key }) {
  const verifier = {
    id: key.id,
    algs: ['ecdsa-p256-sha256'],
    verify: async (data, signature) => createVerify('SHA256').update(data).verify(createPublicKey(key.key), signature),
  };
  const keyLookup = async ({ keyid }) => (keyid === key.id ? verifier : null);
  const message = { method: letter.method, url, headers: Object.fromEntries(letter.headers) };
  return { verified: await httpbis.verifyMessage({ keyLookup, tolerance }, message) };
}

/** A callback with this body, and the key that it is signed with. */
async function sign({ url, body, created }) {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const digest = createHash('sha512').update(body).digest('base64');
  const message = {
    method: 'POST',
    url,
    headers: {
      'Content-Type': 'application/json; charset=UTF-8',
      'Content-Digest': `sha-512=:${digest}:`,
      'Signature-Date': new Date(created * 1000).toISOString(),
    },
  };
  const key = {
    id: 'HTTP_EC_P256_KEY:1',
    alg: 'ecdsa-p256-sha256',
    sign: async (data) => createSign('SHA256').update(data).sign(pair.privateKey),
  };
  const paramValues = { created: new Date(created * 1000), expires: new Date((created + 60) * 1000) };
  const params = ['alg', 'keyid', 'created', 'expires'];
  const { headers } = await httpbis.signMessage({ key, name: 'sig-pp', fields, params, paramValues }, message);
  const pem = pair.publicKey.export({ type: 'spki', format: 'pem' });
  return { headers: Object.entries(headers), key: { id: key.id, key: pem } };
}

const asked = JSON.parse(readFileSync(0, 'utf8'));
const answer = asked.sign ? await sign(asked.sign) : await verify(asked.verify);
console.log(JSON.stringify(answer));
