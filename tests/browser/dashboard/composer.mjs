// The insert menu and the findings of the composer, with the fake server of tests/browser/fake.
import { assert, until } from '../check.mjs';
import { inContexts, inspect } from './inspect.mjs';

/** An image that the policy of a preview allows. */
const GIF = 'data:image/gif;base64,R0lGODlhAQABAAAAACw=';

/** Sends a change to the fake server, and returns its answer. */
async function change(world, method, path, body) {
  const response = await fetch(`${world.origin}/dashboard/api${path}`, { method, headers: { 'content-type': 'application/json', 'x-ringmail-dashboard': '1' }, body: JSON.stringify(body) });
  assert.ok(response.ok, await response.clone().text());
  return response.json();
}

const contentOf = async (world, id) => (await fetch(`${world.origin}/dashboard/api/broadcasts/${id}/content`)).json();

/** Opens the composer of a new draft with a content. Returns its page and its id. */
async function compose(world, content) {
  const { id } = await change(world, 'POST', '/broadcasts', { from: 'Acme <news@mail.acme.com>', subject: 'News' });
  await change(world, 'PUT', `/broadcasts/${id}/content`, content);
  const page = await world.tab();
  await page.show(`/broadcasts/${id}/edit`);
  await page.locator('.cm-content').waitFor();
  return { page, id };
}

async function theAlternativeTextIsAskedAndWritten(world) {
  const markdown = await compose(world, { source: 'Hi\n\n![](https://acme.com/a.png) ![](https://acme.com/b.png)\n\n{{{UNSUBSCRIBE_URL}}}\n' });
  const { page } = markdown, dialog = page.getByRole('dialog', { name: 'Add alternative text' });
  await page.getByRole('heading', { name: '2 things to check' }).waitFor();
  await page.getByRole('button', { name: 'Add text…' }).nth(1).click();
  await dialog.getByRole('button', { name: 'Add text' }).click();
  await dialog.getByText('Describe the image in a few words.').waitFor();
  await inContexts(async (widths) => inspect(page, 'composer-alt', { widths, part: '.dialog' }));
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Add text…' }).nth(1).press('Enter');
  await dialog.getByRole('textbox').fill('A [chart] of *{{{FIRST_NAME|you}}}*');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: '1 thing to check' }).waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Markdown' }).evaluate((element) => element.getRootNode().activeElement === element), true, 'the focus is in the editor');
  const escaped = '![A \\[chart\\] of \\*{{{FIRST_NAME|you}}}\\*](https://acme.com/b.png)';
  assert.equal((await contentOf(world, markdown.id)).source, `Hi\n\n![](https://acme.com/a.png) ${escaped}\n\n{{{UNSUBSCRIBE_URL}}}\n`);
  await page.leave();

  const others = `<img alt="" src=${GIF}>\n<img src=${GIF}>`;
  const html = await compose(world, { html: `<p>{{{UNSUBSCRIBE_URL}}}</p>\n<IMG src="${GIF}">${others}`, text: null });
  await html.page.getByRole('button', { name: 'Add text…' }).first().click();
  await html.page.getByRole('dialog').getByRole('textbox').fill('"Views" < <all> & more');
  await html.page.getByRole('dialog').getByRole('button', { name: 'Add text' }).click();
  const written = `<p>{{{UNSUBSCRIBE_URL}}}</p>\n<IMG alt="&quot;Views&quot; &lt; &lt;all&gt; &amp; more" src="${GIF}">${others}`;
  await until('the autosave', async () => (await contentOf(world, html.id)).html === written);
  await html.page.leave();
}

async function theTwoColumnsAreInserted(world) {
  for (const [content, part, pattern] of [
    [{ source: 'Hi\n' }, 'source', /^Hi\n\n\[\[columns\]\]\n\nFirst column\n\n\[\[column\]\]\n\nSecond column\n\n\[\[end\]\]\n/],
    [{ html: '<p>Hi</p>\n', text: null }, 'html', /^<p>Hi<\/p>\n<table role="presentation"[^>]*><tr>\n(<td class="rm-column"[^>]*>\n<p>\w+ column<\/p>\n<\/td>\n){2}<\/tr><\/table>\n$/],
  ]) {
    const { page, id } = await compose(world, content);
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    await page.getByRole('button', { name: 'Insert' }).click();
    await page.getByRole('button', { name: 'Two columns' }).click();
    const stored = await until('the autosave', async () => { const text = (await contentOf(world, id))[part]; return text.includes('Second') && text; });
    assert.match(stored, pattern);
    await page.leave();
  }
}

async function aDeadLinkIsAFinding(world) {
  const { page, id } = await compose(world, { source: '[Views](https://acme.com/views) and [prices](https://acme.com/prices)\n\n{{{UNSUBSCRIBE_URL}}}\n' });
  await page.getByRole('heading', { name: 'Nothing to change' }).waitFor();
  await page.getByRole('button', { name: 'Check links' }).click();
  await page.getByRole('heading', { name: '1 thing to check' }).waitFor();
  await page.locator('.lints').getByText('2 links checked').waitFor();
  await page.locator('.lints').getByText('The link does not work: the response has the status 404.').waitFor();
  assert.equal(await page.locator('.cm-lintRange-warning').textContent(), '[Views](https://acme.com/views)');
  await page.getByRole('button', { name: 'Line 1' }).click();
  await page.keyboard.type('[Views](https://acme.com/more)');
  await page.getByRole('heading', { name: 'Nothing to change' }).waitFor();
  await page.locator('.lints').getByText('Links were not checked since the last change.').waitFor();
  await page.getByRole('button', { name: 'Check links' }).click();
  await page.locator('.lints').getByText('2 links checked').waitFor();
  await page.getByRole('heading', { name: 'Nothing to change' }).waitFor();
  assert.equal((await contentOf(world, id)).source, '[Views](https://acme.com/more) and [prices](https://acme.com/prices)\n\n{{{UNSUBSCRIBE_URL}}}\n');
  await page.leave();
}

/** Until the next check, a finding has the place that it had before its repair. */
async function aFindingIsRepairedOnce(world) {
  const end = '\n\n{{{UNSUBSCRIBE_URL}}}\n';
  for (const [part, text, repaired] of [
    ['source', `![](https://acme.com/a.png) {{{FIRST_NAME}}}${end}`, `![Views](https://acme.com/a.png) {{{FIRST_NAME|there}}}${end}`],
    ['html', `<img title="No alt = " src="${GIF}"> {{{FIRST_NAME}}}${end}`, `<img alt="Views" title="No alt = " src="${GIF}"> {{{FIRST_NAME|there}}}${end}`],
  ]) {
    const { page, id } = await compose(world, part === 'source' ? { source: text } : { html: text, text: null });
    await page.getByRole('heading', { name: '2 things to check' }).waitFor();
    await page.route('**/check', () => { /* No check follows. */ });
    const alt = page.getByRole('button', { name: 'Add text…' }), fallback = page.getByRole('button', { name: 'Add “there”' }), dialog = page.getByRole('dialog');
    await fallback.click();
    await fallback.click();
    await page.locator('.lints').getByText('The content has changed since the check. Try again in a moment.').waitFor();
    await inspect(page, `composer-refused-${part}`, { part: '.lints' });
    for (const words of ['Views', 'Other']) {
      await alt.click();
      await dialog.getByRole('textbox').fill(words);
      await page.keyboard.press('Enter');
      await (words === 'Views' ? dialog.waitFor({ state: 'detached' }) : dialog.getByText('The content has changed since the check.').waitFor());
    }
    await until('the autosave', async () => (await contentOf(world, id))[part] === repaired);
    await page.leave();
  }
}

/** On a small screen, the preview replaces the editor. */
async function theFocusIsAtTheFindings(world) {
  const { page, id } = await compose(world, { source: '![](https://acme.com/a.png) {{{FIRST_NAME}}}\n\n{{{UNSUBSCRIBE_URL}}}\n' });
  await page.setViewportSize({ width: 360, height: 800 });
  await page.getByRole('tab', { name: 'Preview' }).click();
  const hasFocus = (name) => page.getByRole('heading', { name }).evaluate((element) => element === document.activeElement);
  await page.getByRole('button', { name: 'Add “there”' }).click();
  await until('the focus', () => hasFocus('1 thing to check'));
  await page.getByRole('button', { name: 'Add text…' }).click();
  await page.getByRole('dialog').getByRole('textbox').fill('Views');
  await page.keyboard.press('Enter');
  await until('the focus', () => hasFocus('Nothing to change'));
  assert.equal((await contentOf(world, id)).source, '![Views](https://acme.com/a.png) {{{FIRST_NAME|there}}}\n\n{{{UNSUBSCRIBE_URL}}}\n');
  await page.leave();
}

export const composer = [
  ['dashboard: the alternative text of an image is asked and written', theAlternativeTextIsAskedAndWritten],
  ['dashboard: two columns are inserted', theTwoColumnsAreInserted],
  ['dashboard: a dead link is a finding', aDeadLinkIsAFinding],
  ['dashboard: a finding is repaired once', aFindingIsRepairedOnce],
  ['dashboard: after a repair beside the preview, the focus is at the findings', theFocusIsAtTheFindings],
];
