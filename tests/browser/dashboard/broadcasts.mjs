// The composer of broadcasts and the editor of templates, with the fake server of tests/browser/fake.
import { assert, until } from '../check.mjs';
import { uuid } from '../fake/lists.mjs';
import { inContexts, inspect } from './inspect.mjs';

const [DRAFT, SENDING, SCHEDULED, , , , HTML] = Array.from({ length: 7 }, (_, n) => uuid('b0ad', n));
const TEMPLATE = uuid('7e41', 0), LATER = uuid('7e41', 5);

/** The answer of the fake server to a request of the pages. */
async function ask(world, path) {
  const response = await fetch(`${world.origin}/dashboard/api${path}`);
  return response.json();
}

/** Changes a draft of the fake server as another window does. */
async function changeElsewhere(world, path, changes) {
  const headers = { 'content-type': 'application/json', 'x-ringmail-dashboard': '1' };
  const response = await fetch(`${world.origin}/dashboard/api${path}`, { method: 'PATCH', headers, body: JSON.stringify(changes) });
  assert.equal(response.status, 200);
}

/** Opens a composer or an editor, and waits for its code editor. */
async function open(world, path) {
  const page = await world.tab();
  await page.show(path);
  await page.locator('.cm-content').waitFor();
  return page;
}

/** Keys that are shortcuts elsewhere are text in the editor, although it is in a shadow root. */
async function theEditorTakesEveryKey(world) {
  const page = await open(world, `/broadcasts/${DRAFT}/edit`);
  const editor = page.getByRole('textbox', { name: 'Markdown' });
  await editor.click();
  await page.keyboard.press('Control+Home');
  await page.keyboard.type('ge? jkx/\n');
  await until('the autosave', async () => (await ask(world, `/broadcasts/${DRAFT}/content`)).source.startsWith('ge? jkx/\n# Coming'));
  assert.match(page.url(), /\/edit$/, 'no shortcut has left the page');
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.getByText('Saved just now').or(page.getByText(/^Saved \d+s ago$/)).waitFor();
  await until('the text before', async () => {
    await page.keyboard.press('Control+z');
    return (await ask(world, `/broadcasts/${DRAFT}/content`)).source.startsWith('# Coming');
  });
  await page.keyboard.press('Tab');
  assert.equal(await editor.evaluate((element) => element.getRootNode().activeElement === element), false, 'Tab leaves the editor');
  await page.leave();
}

async function aFindingIsMarkedShownAndRepaired(world) {
  const page = await open(world, `/broadcasts/${DRAFT}/edit`);
  await page.getByRole('heading', { name: '2 things to check' }).waitFor();
  await page.getByText('FIRST_NAME has no fallback. 1,102 of 10,878 contacts have no value.').waitFor();
  assert.equal(await page.locator('.cm-lintRange-warning').count(), 2);
  assert.equal(await page.locator('.cm-lintRange-warning').first().textContent(), '{{{FIRST_NAME}}}');
  await page.getByRole('button', { name: 'Line 8' }).click();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.type('Shared views');
  await page.getByRole('heading', { name: '1 thing to check' }).waitFor();
  await page.getByRole('button', { name: 'Add “there”' }).click();
  await page.getByRole('heading', { name: 'Nothing to change' }).waitFor();
  const { source } = await ask(world, `/broadcasts/${DRAFT}/content`);
  assert.match(source, /Hello \{\{\{FIRST_NAME\|there\}\}\},/);
  assert.match(source, /!\[Shared views\]\(/);
  await page.leave();
}

async function aRefusedSettingStaysBesideItsField(world) {
  const page = await open(world, `/broadcasts/${DRAFT}/edit`);
  page.expected = /422/;
  await page.getByLabel('From').fill('nobody');
  await page.getByText('Invalid `from` field: give an address.').waitFor();
  await page.getByText('Not saved').waitFor();
  assert.equal(await page.getByLabel('From').getAttribute('aria-invalid'), 'true');
  await page.getByRole('button', { name: 'Review and send…' }).click();
  assert.equal(await page.getByRole('dialog').count(), 0, 'nothing is sent before it is saved');
  await page.getByLabel('From').fill('Acme <news@mail.acme.com>');
  await page.getByText(/^Saved /).waitFor();
  await page.leave();
}

async function markdownBecomesHtml(world) {
  const page = await open(world, `/broadcasts/${HTML}/edit`);
  await page.getByRole('tab', { name: 'Text' }).click();
  assert.equal(await page.getByRole('tab', { name: 'Markdown' }).count(), 0);
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Start again in Markdown…' }).click();
  await page.getByRole('button', { name: 'Start in Markdown' }).click();
  await page.getByRole('textbox', { name: 'Markdown' }).waitFor();
  await until('the autosave', async () => (await ask(world, `/broadcasts/${HTML}/content`)).format === 'markdown');
  await page.getByRole('tab', { name: 'HTML' }).click();
  await until('the editor that cannot be written to', async () => (await page.getByRole('textbox', { name: 'HTML' }).getAttribute('aria-readonly')) === 'true');
  await page.getByRole('button', { name: 'Edit as HTML…' }).click();
  await page.getByRole('button', { name: 'Edit the HTML' }).click();
  await until('the autosave', async () => (await ask(world, `/broadcasts/${HTML}/content`)).format === 'html');
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Copy a template…' }).click();
  await page.getByRole('dialog').getByLabel('Template').selectOption({ label: 'Password reset (password-reset)' });
  await page.getByRole('button', { name: 'Replace the content' }).click();
  await page.getByText('Copied the template').waitFor();
  await page.locator('.cm-content').getByText('Thank you,').waitFor();
  assert.match((await ask(world, `/broadcasts/${HTML}/content`)).html, /Thank you/);
  await page.leave();
}

async function aLargeAudienceIsConfirmedByItsNumber(world) {
  const page = await open(world, `/broadcasts/${HTML}/edit`);
  await page.getByRole('button', { name: 'Review and send…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Send to 11,188 contacts?' });
  await dialog.waitFor();
  await dialog.getByText('It goes out in steps over 3 hours.').waitFor();
  await inContexts(async (widths) => inspect(page, 'composer-review', { widths, part: 'main' }));
  await dialog.getByRole('button', { name: 'Send broadcast' }).click();
  await dialog.getByText('Type the number of recipients: 11188').waitFor();
  await dialog.getByLabel('Later').check();
  await dialog.getByLabel('Start').fill('2027-01-04T09:00');
  await dialog.getByText('That is Mon 4 Jan, 09:00 UTC.').waitFor();
  await dialog.getByLabel('Type the number').fill('11,188');
  const sent = page.waitForRequest((request) => request.url().endsWith(`/broadcasts/${HTML}/send`));
  await dialog.getByRole('button', { name: 'Schedule broadcast' }).click();
  assert.deepEqual((await sent).postDataJSON(), { scheduled_at: '2027-01-04T09:00:00.000Z' });
  await page.getByText('It starts on Mon 4 Jan at 09:00 UTC').waitFor();
  await page.leave();
}

async function aBroadcastIsCanceled(world) {
  const page = await world.tab();
  await page.show(`/broadcasts/${SENDING}`);
  await page.getByText('of 10,878 sent').waitFor();
  await page.getByRole('link', { name: /^Bounced/ }).click();
  await page.getByText('The address does not work').first().waitFor();
  await page.getByRole('button', { name: 'Cancel the rest…' }).click();
  await page.getByRole('dialog').getByText('6,412 emails have left').waitFor();
  await page.getByRole('button', { name: 'Cancel 4,466 emails' }).click();
  await page.getByText('Canceled 4,466 emails').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Cancel the rest…' }).count(), 0);
  await page.show(`/broadcasts/${SCHEDULED}`);
  await page.getByRole('button', { name: 'Cancel…' }).waitFor();
  await page.leave();
}

async function aTemplateIsEditedAndPublished(world) {
  const page = await open(world, `/templates/${TEMPLATE}`);
  await page.getByText('Without a value: ORDER').waitFor();
  await page.getByLabel('ORDER').fill('A-1184');
  await page.frameLocator('.c-prev iframe').getByText('A-1184').waitFor();
  await page.getByText('Every variable has a value or a fallback.').waitFor();
  page.expected = /409/;
  await page.getByLabel('Alias').fill('password-reset');
  await page.getByText('Another template has this `alias`.').waitFor();
  await page.getByLabel('Alias').fill('order-confirmed');
  await page.getByText(/^Saved /).waitFor();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.getByText('Published the template').waitFor();
  assert.equal((await ask(world, `/templates/${TEMPLATE}`)).alias, 'order-confirmed');
  await page.show(`/templates/${LATER}`);
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Delete template' }).click();
  await page.getByText('Deleted the template').waitFor();
  await page.locator('a.cell').first().waitFor();
  assert.equal(await page.locator(`a[href$="${LATER}"]`).count(), 0, 'the row is hidden at once');
  await page.leave();
}

/** A page with an older version stores nothing until the user has chosen a version. */
async function twoWindowsDoNotOverwriteEachOther(world) {
  for (const [path, editor] of [[`/broadcasts/${DRAFT}`, `/broadcasts/${DRAFT}/edit`], [`/templates/${TEMPLATE}`, `/templates/${TEMPLATE}`]]) {
    const { name } = await ask(world, path), stored = async () => (await ask(world, path)).subject;
    const page = await open(world, editor);
    page.expected = /409/;
    const subject = page.getByLabel('Subject', { exact: true });
    const choice = page.getByRole('alert').filter({ hasText: 'This draft was changed in another window.' });
    await changeElsewhere(world, path, { subject: 'Of the other window' });
    await subject.fill('Of this window');
    await choice.waitFor();
    await page.getByText('Not saved', { exact: true }).waitFor();
    assert.equal(await stored(), 'Of the other window');
    await choice.getByRole('button', { name: 'Load the newer version' }).click();
    await until('the newer version', async () => (await subject.inputValue()) === 'Of the other window');
    await choice.waitFor({ state: 'detached' });

    await changeElsewhere(world, path, { subject: 'Of the other window again', name: 'Of the other window' });
    await subject.fill('Of this window');
    await choice.getByRole('button', { name: 'Keep mine' }).click();
    await until('the text of this window', async () => (await stored()) === 'Of this window');
    await choice.waitFor({ state: 'detached' });
    assert.equal((await ask(world, path)).name, name, 'all of this window is stored');
    await subject.fill('Of this window again');
    await until('the autosave', async () => (await stored()) === 'Of this window again');
    await page.leave();
  }
}

/** The file of the editor cannot be loaded. */
async function aPlainFieldReplacesTheEditor(world) {
  const context = await world.session();
  await context.route('**/vendor/codemirror.js', (route) => route.abort());
  const page = await world.tab(context);
  page.expected = /ERR_FAILED|Failed to fetch/;
  await page.show(`/templates/${TEMPLATE}`);
  const field = page.getByRole('textbox', { name: 'HTML' });
  await field.fill('<h1>Hello {{{NAME|there}}}</h1>\n');
  await until('the autosave', async () => (await ask(world, `/templates/${TEMPLATE}`)).html === '<h1>Hello {{{NAME|there}}}</h1>\n');
  await page.leave();
  await context.close();
}

export const broadcasts = [
  ['dashboard: the editor takes every key', theEditorTakesEveryKey],
  ['dashboard: a finding is marked, shown and repaired', aFindingIsMarkedShownAndRepaired],
  ['dashboard: a refused setting stays beside its field', aRefusedSettingStaysBesideItsField],
  ['dashboard: Markdown becomes HTML', markdownBecomesHtml],
  ['dashboard: a large audience is confirmed by its number', aLargeAudienceIsConfirmedByItsNumber],
  ['dashboard: a broadcast is canceled', aBroadcastIsCanceled],
  ['dashboard: a template is edited and published', aTemplateIsEditedAndPublished],
  ['dashboard: two windows do not overwrite each other', twoWindowsDoNotOverwriteEachOther],
  ['dashboard: a plain field replaces the editor', aPlainFieldReplacesTheEditor],
];
