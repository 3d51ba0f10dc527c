// The emails of the corpus from packages: the templates of Foundation for Emails, and those of Mailgen with invented
// content. Prints them as JSON.
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const root = join(process.env.CORPUS_MODULES, 'node_modules');
const modules = createRequire(join(process.env.CORPUS_MODULES, '/'));
const Mailgen = modules('mailgen');
const packageOf = (name) => JSON.parse(readFileSync(join(root, name, 'package.json'), 'utf8'));

const foundation = packageOf('foundation-emails');
const folder = join(root, 'foundation-emails/.download');
const style = readFileSync(join(folder, 'css/foundation-emails.css'), 'utf8');
// The templates link to their style sheet. An email has it within.
const rendered = readdirSync(join(folder, 'templates')).map((name, at) => {
  const html = readFileSync(join(folder, 'templates', name), 'utf8').replaceAll('href="#"', `href="https://news.example.com/${name}"`);
  const inside = at < 3 ? html.replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`) : html;
  return { file: `foundation-${name}`, origin: `foundation-emails@${foundation.version}`, licence: foundation.license, html: inside };
});

const mailgen = packageOf('mailgen');
const product = { name: 'Acme', link: 'https://acme.example.com/?from=email&kind=product', copyright: '© Acme' };
const action = { instructions: 'To start, click here:', button: { color: '#22bc66', text: 'Confirm', link: 'https://acme.example.com/confirm?s=d9729feb74992cc3482b350163a1a010' } };
const BODIES = {
  welcome: { name: 'Ada', intro: 'Welcome to Acme!', action, outro: 'Need help? Reply to this email.' },
  receipt: { name: 'Ada', intro: 'Your order is complete.', table: { data: [{ item: 'Chair', price: '$99.00' }, { item: 'Lamp', price: '$31.50' }], columns: { customAlignment: { price: 'right' } } }, action: [action, { instructions: 'Or:', button: { text: 'Invoice', link: 'https://acme.example.com/invoice' } }] },
};
for (const theme of ['default', 'cerberus', 'neopolitan', 'salted']) {
  for (const [name, body] of Object.entries(BODIES)) {
    const html = new Mailgen({ theme, product }).generate({ body });
    rendered.push({ file: `mailgen-${theme}-${name}.html`, origin: `mailgen@${mailgen.version}`, licence: mailgen.license, html });
  }
}
process.stdout.write(JSON.stringify(rendered));
