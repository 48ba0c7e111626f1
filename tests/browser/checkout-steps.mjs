// The payer's steps on the checkout page, as a person takes them: by what the page says, not by how
// it is made.

/** What the pages say, in the words that a person looks for. */
export const WORDS = {
  en: { method: /Test payment/, number: 'Test phone number', next: 'Continue', pay: /^Pay / },
  fr: { method: /Paiement de test/, number: 'Numéro de téléphone d’essai', next: 'Continuer', pay: /^Payer / },
};

/** From the checkout link to the step before money moves. */
export async function toConfirm(page, url, number, lang = 'en') {
  const words = WORDS[lang];
  await page.goto(`${url}?lang=${lang}`);
  await page.getByRole('link', { name: words.method }).click();
  await page.getByLabel(words.number).fill(number);
  await page.getByRole('button', { name: words.next }).click();
  await page.waitForURL(/\/confirm\?/);
}

/** All the way to the button that pays. */
export async function pay(page, url, number, lang = 'en') {
  await toConfirm(page, url, number, lang);
  await page.getByRole('button', { name: WORDS[lang].pay }).click();
}

/** Everything that a page complains about in the console, such as a broken rule of its own. */
export function complaints(page) {
  const heard = [];
  page.on('console', (message) => message.type() === 'error' && heard.push(message.text()));
  page.on('pageerror', (error) => heard.push(String(error)));
  return heard;
}

export const PHONE = { width: 360, height: 740 };
export const DESKTOP = { width: 1440, height: 900 };

/** Has the seeded app pay in sandbox by one connection alone. */
export async function payBy(server, gateway, config) {
  const app = `/operator/v1/apps/${server.dev.app_id}`;
  for (const { id, environment } of await server.operator('GET', `${app}/connections`)) {
    if (environment === 'sandbox') await server.operator('DELETE', `/operator/v1/connections/${id}`);
  }
  const connection = { environment: 'sandbox', gateway, account_name: 'The only one', config };
  await server.operator('POST', `${app}/connections`, connection);
}

/** The test gateway asks for a code from now on. */
export const askForCodes = (server) => payBy(server, 'switchyard_demo', { ask_code: true });
