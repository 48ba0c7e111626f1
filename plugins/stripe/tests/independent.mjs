// Stripe's own client library against the simulator, and as the other side of signatures. It knows
// nothing of our code. One JSON object on standard input, one on standard output.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(`${process.env.SWITCHYARD_NPM_PACKAGES}/package.json`);
const Stripe = require('stripe');

const asked = JSON.parse(readFileSync(0, 'utf8'));

function client(key = asked.key ?? 'sk_test_x') {
  const url = new URL(asked.url ?? 'http://127.0.0.1:1');
  // The tests count requests: none is sent twice behind their back.
  return new Stripe(key, {
    host: url.hostname, port: url.port, protocol: 'http', maxNetworkRetries: 0, telemetry: false,
  });
}

const does = {
  /** The event in a callback, if the library believes it. The messages are of the tests' time. */
  verify({ body, header, secret, now }) {
    try {
      const event = client().webhooks.constructEvent(body, header, secret, 300, undefined, now * 1000);
      return { type: event.type };
    } catch (error) {
      return { error: error.type };
    }
  },

  sign({ body, secret, timestamp }) {
    return { header: client().webhooks.generateTestHeaderString({ payload: body, secret, timestamp }) };
  },

  /** A session's life, as the library's users write it. */
  async checkout({ session, idempotency: key }) {
    const stripe = client();
    const made = await stripe.checkout.sessions.create(session, { idempotencyKey: key });
    const again = await stripe.checkout.sessions.create(session, { idempotencyKey: key });
    const told = (error) => ({ type: error.type, status: error.statusCode, code: error.code });
    const fails = async (attempt) => attempt.then(() => null, told);
    const mismatch = await fails(
      stripe.checkout.sessions.create({ ...session, client_reference_id: 'other' }, { idempotencyKey: key }),
    );
    const shown = await stripe.checkout.sessions.retrieve(made.id, { expand: ['payment_intent'] });
    const listed = [];
    for await (const one of stripe.checkout.sessions.list({ limit: 1, created: { gte: made.created } })) listed.push(one.id);
    const ended = await stripe.checkout.sessions.expire(made.id);
    const twice = await fails(stripe.checkout.sessions.expire(made.id));
    const missing = await fails(stripe.checkout.sessions.retrieve('cs_test_missing'));
    const unknown = await fails(stripe.checkout.sessions.create({ ...session, nonsense: 1 }));
    const stranger = await fails(client('sk_test_wrong').accounts.retrieveCurrent());
    return {
      made: made.id, again: again.id, replayed: again.lastResponse.headers['idempotent-replayed'] ?? null, mismatch,
      shown: { status: shown.status, amount: shown.amount_total, metadata: shown.metadata }, listed, ended: ended.status,
      twice, missing, unknown, stranger,
    };
  },

  async refund({ refund, idempotency: key }) {
    const stripe = client();
    const made = await stripe.refunds.create(refund, { idempotencyKey: key });
    const shown = await stripe.refunds.retrieve(made.id);
    const listed = await stripe.refunds.list({ payment_intent: refund.payment_intent });
    return { status: shown.status, amount: shown.amount, listed: listed.data.length };
  },
};

console.log(JSON.stringify(await does[asked.do](asked)));
