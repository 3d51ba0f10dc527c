// Journeys of broadcasts on a development server, which captures every email.
import { assert, journey, until } from '../../check.mjs';

const CONTACTS = [['ada@example.net', 'Ada'], ['noor@example.org', null], ['olle@example.com', 'Olle']];

/** Creates a segment with three contacts. One of them has no name, and a fourth one has unsubscribed. */
async function aSegment(world) {
  const segment = await world.call('POST', '/segments', { name: 'Readers' });
  for (const [email, first_name] of CONTACTS) await world.call('POST', '/contacts', { email, first_name, segments: [{ id: segment.id }] });
  await world.call('POST', '/contacts', { email: 'gone@example.net', unsubscribed: true, segments: [{ id: segment.id }] });
  return segment;
}

async function writeCheckAndSend(world) {
  const page = await world.tab();
  await page.show('/broadcasts');
  await page.getByRole('button', { name: 'Create broadcast' }).first().click();
  const create = page.getByRole('dialog');
  await create.getByLabel('From').fill('Acme <hello@example.com>');
  await create.getByLabel('Subject').fill('Coming in December');
  await create.getByRole('button', { name: 'Create draft' }).click();
  const editor = page.getByRole('textbox', { name: 'Markdown' });
  await editor.waitFor();
  await page.locator('.cm-content').click();
  // Chromium keeps the style of a selection that is typed over, which the policy refuses without an effect on the text.
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Delete');
  await page.keyboard.type('# News\n\nHello {{{FIRST_NAME}}}, shared views are nearly ready.\n');
  await page.getByLabel('Segment').selectOption({ label: 'Readers' });
  await page.locator('.reach .is-sum').getByText('3', { exact: true }).waitFor();
  await page.getByText(/^Saved /).waitFor();
  await page.getByRole('button', { name: 'Add “there”' }).click();
  await page.keyboard.press('Control+End');
  await page.getByRole('button', { name: 'Insert' }).click();
  await page.getByRole('button', { name: 'Unsubscribe link' }).click();
  await page.getByRole('heading', { name: /^\d+ things? to check$/ }).or(page.getByRole('heading', { name: 'Nothing to change' })).waitFor();
  await until('the repaired findings', async () => await page.locator('.lints').getByText('FIRST_NAME').count() === 0);
  const preview = page.frameLocator('section.c-prev iframe');
  await preview.getByText('Hello Ada, shared views are nearly ready.').waitFor();
  await page.getByLabel('Shown as').selectOption('none');
  await preview.getByText('Hello there, shared views are nearly ready.').waitFor();

  await page.getByRole('button', { name: 'Send a test…' }).click();
  await page.getByRole('dialog').getByLabel('To').fill('test@example.com');
  await page.getByRole('button', { name: 'Send test' }).click();
  await page.getByText('The test is captured').waitFor();

  await page.getByRole('button', { name: 'Review and send…' }).click();
  await page.getByRole('dialog', { name: 'Send to 3 contacts?' }).getByRole('button', { name: 'Send broadcast' }).click();
  await page.getByRole('heading', { level: 1, name: 'Coming in December' }).waitFor();
  await page.getByText('of 3 sent').waitFor();
  await page.locator('.head-meta').getByText('Sent', { exact: true }).waitFor();
  await until('the delivered emails on the page', async () => (await page.locator('.fn', { hasText: 'Delivered' }).locator('.fn-v').textContent()) === '3');
  for (const [email] of CONTACTS) await page.getByRole('region', { name: 'Recipients' }).getByText(email).waitFor();
  assert.equal(await page.getByText('gone@example.net').count(), 0);
  await page.leave();
}

export const broadcastJourneys = [
  journey('write, check and send a broadcast', aSegment, writeCheckAndSend),
];
