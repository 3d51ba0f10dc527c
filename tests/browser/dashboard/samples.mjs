// The samples of the page Connect and of a new key: each tab has the text of its SDK, with this server's address and key.
// tests/clients/samples runs these texts.
import { join } from 'node:path';
import { assert } from '../check.mjs';
import { KEY } from '../program.mjs';
import { ROOT } from './types.mjs';

const { OTHERS, SDKS, exportsOf, settingOf } = await import(join(ROOT, 'pages/parts/samples.js'));

/** A part of the text of each tab. The texts themselves come from the file of the page. */
const literals = (base, key) => ({
  node: `export RESEND_BASE_URL=${base}\nexport RESEND_API_KEY=${key}\nimport { Resend } from 'resend';\nconst { data, error } = await new Resend().emails.send({`,
  python: `export RESEND_API_URL=${base}\nexport RESEND_API_KEY=${key}\nimport resend\nresend.Emails.send({`,
  go: `export RESEND_BASE_URL=${base}\nexport RESEND_API_KEY=${key}\nclient := resend.NewClient(os.Getenv("RESEND_API_KEY"))\n`,
  php: `export RESEND_BASE_URL=${base}\nexport RESEND_API_KEY=${key}\n$resend = Resend::client(getenv('RESEND_API_KEY'));\n`,
  ruby: `export RESEND_BASE_URL=${base}/\nexport RESEND_API_KEY=${key}\nrequire "resend"\n`,
  rust: `export RESEND_BASE_URL=${base}\nexport RESEND_API_KEY=${key}\nlet resend = resend_rs::Resend::default();\n`,
  curl: `curl ${base}/emails \\\n  -H 'Authorization: Bearer ${key}' \\\n  -H 'Content-Type: application/json' \\\n  -d '{`,
});

/** Opens each tab, and compares its text. `part` has the tabs. */
async function assertTabs(part, from, base, key) {
  const expected = literals(base, key);
  // They are hidden until a dialog above them is closed, and a list of texts does not wait.
  await part.getByRole('tab', { name: 'curl' }).waitFor();
  const names = await part.getByRole('tab').allTextContents();
  assert.deepEqual(names, ['Node.js', 'Python', 'Go', 'PHP', 'Ruby', 'Rust', 'curl']);
  for (const [at, sdk] of SDKS.entries()) {
    await part.getByRole('tab', { name: names[at] }).click();
    await part.getByRole('tab', { name: sdk.label, selected: true }).waitFor();
    const texts = await part.getByRole('tabpanel').locator('pre').allTextContents();
    assert.deepEqual(texts, [...sdk.variable ? [exportsOf(sdk, base, key)] : [], sdk.code(from, base, key)], sdk.label);
    assert.ok(texts.join('\n').startsWith(expected[sdk.id]), `${sdk.label}: ${texts.join('\n')}`);
    assert.ok(texts.at(-1).includes(from) && texts.at(-1).includes('you@example.com'), sdk.label);
  }
}

/** The settings in the list of SDKs, in their order. */
async function assertSettings(page, from, base, key) {
  const shown = page.getByRole('region', { name: 'SDKs' }).getByRole('listitem').locator('code');
  await shown.first().waitFor();
  const settings = await shown.allTextContents();
  const expected = [...SDKS.map((sdk) => settingOf(sdk, base, key, from)), ...OTHERS.map((other) => other.setting(base, key, from))];
  assert.deepEqual(settings.slice(0, expected.length), expected);
  for (const one of [`RESEND_API_URL=${base} RESEND_API_KEY=${key}`, `options.ApiUrl = "${base}"; options.ApiToken = "${key}";`, `RESEND_BASE_URL=${base} RESEND_API_KEY=${key} resend emails send --from ${from} --to you@example.com --subject Hello --text 'It works.'`]) assert.ok(settings.includes(one), one);
}

/** Creates a key in the open dialog. Returns its token. */
async function createKey(page, name) {
  await page.getByLabel('Name').fill(name);
  await page.getByRole('dialog').getByRole('button', { name: 'Create API key' }).click();
  const token = await page.locator('#new-token').textContent();
  assert.match(token, /^rm_[\w-]{32}$/);
  return token;
}

/** A development server shows its first key. */
async function eachTabHasItsSample(world) {
  const page = await world.tab();
  // The newest verified domain. Other checks verify some.
  const from = `hello@${(await world.call('GET', '/domains')).data.find(({ status }) => status === 'verified').name}`;
  await page.show('/connect');
  await page.getByRole('tabpanel').getByText(from).waitFor();
  await assertTabs(page.getByRole('main'), from, world.origin, KEY);
  await assertSettings(page, from, world.origin, KEY);
  await page.leave();
}

/** Other servers show a key in the dialog that creates it, and in the samples of the page until the user leaves it. */
async function theSamplesHaveTheNewKey(world) {
  const page = await world.signedIn();
  page.expected = /401/;
  await page.show('/connect');
  await page.getByRole('tabpanel').waitFor();
  await assertTabs(page.getByRole('main'), 'hello@example.com', world.origin, 'rm_YOUR_API_KEY');
  await assertSettings(page, 'hello@example.com', world.origin, 'rm_YOUR_API_KEY');
  await page.getByRole('main').getByRole('button', { name: 'Create API key' }).click();
  const token = await createKey(page, 'Samples');
  await assertTabs(page.getByRole('dialog'), 'hello@example.com', world.origin, token);
  await page.getByRole('button', { name: 'I have copied the key' }).click();
  await assertTabs(page.getByRole('main'), 'hello@example.com', world.origin, token);
  await assertSettings(page, 'hello@example.com', world.origin, token);
  const answer = await fetch(`${world.origin}/emails`, { method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' }, body: '{}' });
  assert.equal((await answer.json()).name, 'missing_required_field', 'the server knows the key');
  await page.leave();
}

export const devSamples = [['dashboard: each tab has the sample of its SDK', eachTabHasItsSample]];
export const serveSamples = [['dashboard: the samples have the new key', theSamplesHaveTheNewKey]];
