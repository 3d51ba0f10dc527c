// Journeys of broadcasts on a development server, which captures every email.
import { assert, journey, until } from '../../check.mjs';
import { Program } from '../../program.mjs';

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

const DAY_MS = 86_400_000;
const IMAGE = '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">';
const TEMPLATE = `<h1>Hello {{{FIRST_NAME}}}</h1>\n${IMAGE}\n<p><a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a></p>\n`;

/** Creates a draft for all contacts, and a template without a problem of its own. Returns the id of the draft. */
async function aDraftAndATemplate(world) {
  await world.call('POST', '/contacts', { email: 'winter@example.net' });
  await world.call('POST', '/templates', { name: 'Winter', alias: 'winter', html: TEMPLATE });
  return (await world.call('POST', '/broadcasts', { from: 'Acme <hello@example.com>', subject: 'In winter', html: '<p>Soon.</p>' })).id;
}

async function copyATemplateScheduleAndCancel(world, id) {
  const page = await world.tab();
  await page.show(`/broadcasts/${id}/edit`);
  await page.locator('.cm-content').waitFor();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Copy a template…' }).click();
  await page.getByRole('dialog').getByLabel('Template').selectOption({ label: 'Winter (winter)' });
  await page.getByRole('button', { name: 'Replace the content' }).click();
  await page.getByText('Copied the template').waitFor();
  assert.equal((await world.call('GET', `/broadcasts/${id}`)).html, TEMPLATE);
  await page.getByRole('heading', { name: '2 things to check' }).waitFor();
  assert.deepEqual(await page.locator('.cm-lintRange-warning').allTextContents(), ['{{{FIRST_NAME}}}', IMAGE]);
  await page.getByText(/^Line 1 FIRST_NAME has no fallback\. \d+ of \d+ contacts? ha(s|ve) no value\.$/).waitFor();
  await page.getByRole('button', { name: 'Add text…' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('Snow');
  await page.getByRole('dialog').getByRole('button', { name: 'Add text' }).click();
  await page.getByRole('heading', { name: '1 thing to check' }).waitFor();

  await page.getByRole('button', { name: 'Review and send…' }).click();
  const review = page.getByRole('dialog', { name: /^Send to \d+ contacts?\?$/ });
  await review.getByLabel('Later').check();
  await review.getByLabel('Start').fill(new Date(Date.now() + DAY_MS).toISOString().slice(0, 16));
  await review.getByRole('button', { name: 'Schedule broadcast' }).click();
  await page.getByText(/^It starts /).waitFor();
  await page.show('/broadcasts');
  const row = page.getByRole('row', { name: /In winter/ });
  await row.getByText('Scheduled', { exact: true }).waitFor();
  await row.getByRole('link').first().click();
  await page.getByRole('button', { name: 'Cancel…' }).click();
  await page.getByRole('dialog', { name: 'Cancel this broadcast?' }).getByRole('button', { name: /^Cancel (broadcast|\d+ emails?)$/ }).click();
  await page.locator('.head-meta').getByText('Canceled', { exact: true }).waitFor();
  assert.equal((await world.call('GET', `/broadcasts/${id}`)).status, 'canceled');

  await page.getByRole('button', { name: 'Duplicate' }).click();
  await page.waitForURL(/\/edit$/);
  await page.locator('.cm-content').getByText('alt="Snow"').waitFor();
  const [copy] = (await world.call('GET', '/broadcasts')).data;
  assert.equal(copy.status, 'draft');
  assert.equal((await world.call('GET', `/broadcasts/${copy.id}`)).html, TEMPLATE.replace('<img', '<img alt="Snow"'));
  await page.leave();
}

async function aPublishedTemplate(world) {
  const { id } = await world.call('POST', '/templates', { name: 'Order', alias: 'order-sent', subject: 'Your order', html: '<p>It leaves us today.</p>' });
  await world.call('POST', `/templates/${id}/publish`);
  return id;
}

/** Sends with a template have the edit only after it is published. */
async function editAndPublishATemplate(world, id) {
  const sent = async () => (await world.call('GET', `/emails/${await world.send({ subject: undefined, html: undefined, text: undefined, template: { id: 'order-sent' } })}`)).html;
  const page = await world.tab();
  await page.show(`/templates/${id}`);
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('\n<p>Thank you.</p>');
  await page.frameLocator('section.c-prev iframe').getByText('Thank you.').waitFor();
  await page.getByText('Published, with changes').waitFor();
  assert.doesNotMatch(await sent(), /Thank you/);
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByText('Published the template').waitFor();
  assert.match(await sent(), /It leaves us today\.<\/p>\s*<p>Thank you\./);
  await page.leave();
}

/** Contacts of a broadcast that is sent at a limited rate, in emails a second. */
const MANY = 300, RATE = 40;

/** A server with a limited rate, and a broadcast to many contacts. */
async function aLimitedServer() {
  const program = await Program.dev(() => ['--send-rate', String(RATE)]);
  try {
    await program.call('POST', '/contacts/batch', Array.from({ length: MANY }, (_, n) => ({ email: `reader-${n}@example.net` })));
    const { id } = await program.call('POST', '/broadcasts', { from: 'Acme <hello@example.com>', subject: 'To many', html: '<p>{{{UNSUBSCRIBE_URL}}}</p>' });
    return { program, id };
  } catch (error) {
    await program.stop();
    throw error;
  }
}

/** The page of a broadcast shows its numbers as they grow. */
async function watchABroadcast(world, { program, id }) {
  const context = await world.newContext();
  try {
    const page = await world.tab(context, program.origin);
    await page.goto(await program.link());
    await program.call('POST', `/broadcasts/${id}/send`, {});
    await page.show(`/broadcasts/${id}`);
    await page.getByText(`of ${MANY} sent`).waitFor();
    const seen = [];
    await until('the whole broadcast', async () => {
      const texts = await page.locator('.stat-lg, .fn:has-text("Delivered") .fn-v').allTextContents();
      seen.push(texts.map(Number));
      return texts.length === 2 && texts.every((text) => Number(text) === MANY);
    });
    for (const [n, name] of ['sent', 'delivered'].entries()) {
      const numbers = seen.map((texts) => texts[n]);
      assert.deepEqual(numbers, numbers.toSorted((a, b) => a - b), `${name}: the numbers only grow`);
      assert.ok(numbers.some((number) => number > numbers[0] && number < MANY), `${name}: ${[...new Set(numbers)]}`);
    }
    await page.locator('.head-meta').getByText('Sent', { exact: true }).waitFor();
    await page.leave();
  } finally {
    await context.close();
    await program.stop();
  }
}

export const broadcastJourneys = [
  journey('write, check and send a broadcast', aSegment, writeCheckAndSend),
  journey('copy a template, schedule and cancel a broadcast', aDraftAndATemplate, copyATemplateScheduleAndCancel),
  journey('edit and publish a template', aPublishedTemplate, editAndPublishATemplate),
  journey('watch a broadcast', aLimitedServer, watchABroadcast),
];
