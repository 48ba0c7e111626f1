// Calls Flutterwave's own client, flutterwave-node-v3, against the simulator. It checks what it is
// given by its own schema before it sends it, and knows nothing of our code. An object on standard
// input, the answers on standard output.

import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(`${process.env.SWITCHYARD_NPM_PACKAGES}/package.json`);

// The client reports its use to its maker over https. The simulator is spoken to by fetch, so this
// cuts off nothing but that.
process.env.FLW_SDK_STATE_PATH = '/dev/null';
require('https').request = () => {
  const request = new EventEmitter();
  const nothing = () => request;
  return Object.assign(request, {
    write: nothing,
    setTimeout: nothing,
    destroy: nothing,
    end: () => setImmediate(() => request.emit('error', new Error('no reports from tests'))),
  });
};

const Flutterwave = require('flutterwave-node-v3');
const { url, key, calls } = JSON.parse(readFileSync(0, 'utf8'));
const client = new Flutterwave('FLWPUBK_TEST-simulated-X', key, `${url}/`);
const answers = [];
for (const { call, data } of calls) {
  const [group, name] = call.split('.');
  try {
    answers.push(await client[group][name](data));
  } catch (error) {
    answers.push({ status: 'refused by the client', message: String(error.message) });
  }
}
console.log(JSON.stringify(answers));
