// Behaviour of the page without JavaScript, with the mouse and with the keyboard.
import { assert } from './check.mjs';

const topics = [
  ['News', { description: 'Once a month: what we have built.' }],
  ['Offers', { default_subscription: 'opt_out' }],
  ['Events near you', { description: 'Meetings and talks.' }],
];

/** Creates the topics. Returns their ids in order. */
export async function makeTopics(world) {
  await world.clear();
  const ids = [];
  for (const [name, fields] of topics) ids.push(await world.topic(name, fields));
  return ids;
}

const heading = (page) => page.getByRole('heading', { level: 1 });

async function unsubscribesFromTheLinkOfAnEmail(world) {
  const [news] = await makeTopics(world);
  const person = await world.person();
  const page = await world.page();

  await page.goto(await world.linkInEmail(person.email, news));
  assert.equal(await heading(page).textContent(), 'Unsubscribe from News?');
  assert.equal((await page.textContent('body')).includes(person.email), false, 'the address is masked');
  await page.reload();
  assert.equal((await world.chosen(person)).News, 'opt_in', 'a visit changes no choice');

  await page.getByRole('button', { name: 'Unsubscribe from News' }).click();
  assert.equal(await heading(page).textContent(), 'You are unsubscribed');
  assert.equal((await world.chosen(person)).News, 'opt_out');
  await page.reload();
  assert.equal(await heading(page).textContent(), 'You are unsubscribed', 'a reload sends no form');

  await page.getByRole('button', { name: 'Undo' }).click();
  assert.equal(await page.getByRole('status').textContent(), 'You are subscribed again.');
  assert.equal((await world.chosen(person)).News, 'opt_in');
  await page.leave();
}

/** Clicks at the centre of an element, also if another element covers it. */
async function clickAt(page, locator) {
  await locator.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await locator.boundingBox();
  await page.mouse.click(x + width / 2, y + height / 2);
}

async function savesChoices(world) {
  await makeTopics(world);
  const person = await world.person();
  const page = await world.page();
  await page.goto(await world.linkOf(person));

  const box = (name) => page.getByRole('checkbox', { name });
  assert.equal(await box('News').isChecked(), true);
  assert.equal(await box('Offers').isChecked(), false);
  await box('News').uncheck();
  // A click on the label or the description changes the checkbox.
  await clickAt(page, page.getByText('Offers', { exact: true }));
  await clickAt(page, page.getByText('Meetings and talks.'));
  await page.getByRole('button', { name: 'Save choices' }).click();

  assert.equal(await page.getByRole('status').textContent(), 'Your choices have been saved.');
  const expected = { News: 'opt_out', Offers: 'opt_in', 'Events near you': 'opt_out' };
  assert.deepEqual(await world.chosen(person), expected);
  assert.deepEqual(
    [await box('News').isChecked(), await box('Offers').isChecked(), await box('Events near you').isChecked()],
    [false, true, false],
  );
  assert.equal(await world.unsubscribed(person), false);
  await page.leave();
}

async function unsubscribesFromEverything(world) {
  const [news] = await makeTopics(world);
  const person = await world.person();
  const page = await world.page();
  await page.goto(await world.linkInEmail(person.email, news));

  await page.getByRole('button', { name: 'Unsubscribe from everything' }).click();
  assert.equal(await heading(page).textContent(), 'You are unsubscribed');
  assert.equal(await world.unsubscribed(person), true);

  // The same visit can undo it.
  await page.getByRole('button', { name: 'Undo' }).click();
  assert.equal(await page.getByRole('status').textContent(), 'You are subscribed again.');
  assert.equal(await world.unsubscribed(person), false);
  assert.equal(await page.getByRole('checkbox').count(), 3);

  // A later visit cannot undo it.
  await page.getByRole('button', { name: 'Unsubscribe from everything' }).click();
  await page.goto(await world.linkOf(person));
  assert.equal(await heading(page).textContent(), 'You are unsubscribed');
  assert.equal(await page.getByRole('checkbox').count(), 0);
  assert.equal(await page.getByRole('button').count(), 0);
  assert.equal(await world.unsubscribed(person), true);
  await page.leave();
}

async function worksForAnAddressWithoutAContact(world) {
  const [news] = await makeTopics(world);
  const page = await world.page();
  await page.goto(await world.linkInEmail('stranger@recipient.example', news));

  assert.equal(await page.getByRole('button').count(), 1);
  await page.getByRole('button').click();
  const listed = async () => (await world.call('GET', '/suppressions?origin=unsubscribe')).data.length;
  assert.equal(await listed(), 1);
  await page.getByRole('button', { name: 'Undo' }).click();
  assert.equal(await listed(), 0);
  await page.leave();
}

async function worksWithTheKeyboardOnly(world) {
  const [news] = await makeTopics(world);
  const person = await world.person();
  const page = await world.page();
  await page.goto(await world.linkInEmail(person.email, news));

  const names = [];
  for (let step = 0; step < 6; step += 1) {
    await page.keyboard.press('Tab');
    const focused = page.locator(':focus-visible');
    assert.equal(await focused.count(), 1, `an element has the focus after ${names.join(', ')}`);
    names.push(await focused.evaluate((element) => element.labels?.[0]?.textContent ?? element.textContent));
    const outline = await focused.evaluate((element) => getComputedStyle(element).outlineWidth);
    assert.equal(outline, '3px', `${names.at(-1)} shows the focus`);
    if (names.at(-1) === 'Offers') await page.keyboard.press('Space');
  }
  assert.deepEqual(names, [
    'Unsubscribe from News', 'News', 'Offers', 'Events near you', 'Save choices', 'Unsubscribe from everything',
  ]);
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('status').waitFor();
  assert.equal((await world.chosen(person)).Offers, 'opt_in');

  await page.keyboard.press('Tab');
  await page.keyboard.press('Space');
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  assert.equal((await world.chosen(person)).News, 'opt_out');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('You are subscribed again.').waitFor();
  await page.leave();
}

async function redirectsToTheUrlOfTheTeam(world) {
  const [news] = await makeTopics(world);
  await world.cli('theme', 'set', '--redirect', `${world.elsewhereUrl}/bye?a=1`);
  const person = await world.person();
  const page = await world.page();
  await page.goto(await world.linkInEmail(person.email, news));
  world.visits.length = 0;

  // The content security policy must allow the redirect after the form is sent.
  await page.getByRole('button', { name: 'Unsubscribe from News' }).click();
  await page.getByRole('heading', { name: 'Elsewhere' }).waitFor();

  const visit = world.visits.find(({ url }) => url === '/bye?a=1');
  assert.ok(visit, JSON.stringify(world.visits));
  assert.equal(visit.referer, undefined, 'the referrer does not contain the URL of the page');
  assert.equal((await world.chosen(person)).News, 'opt_out');
  await page.leave();
}

async function isTranslatedToGerman(world) {
  const [news] = await makeTopics(world);
  const person = await world.person();
  const page = await world.page({ locale: 'de-AT' });
  await page.goto(await world.linkInEmail(person.email, news));

  assert.equal(await page.getAttribute('html', 'lang'), 'de');
  await page.getByRole('button', { name: 'News abbestellen' }).click();
  assert.equal(await heading(page).textContent(), 'Sie sind abgemeldet');
  await page.getByRole('button', { name: 'Rückgängig machen' }).click();
  assert.equal(await page.getByRole('status').textContent(), 'Sie sind wieder angemeldet.');
  await page.leave();
}

async function anInvalidLinkShowsNoData(world) {
  const page = await world.page();
  const response = await page.goto(`${world.origin}/unsubscribe/none`);
  assert.equal(response.status(), 404);
  assert.equal(await heading(page).textContent(), 'This link does not work');
  assert.equal(await page.getByRole('button').count(), 0);
  await page.leave().catch((error) => {
    // The browser logs the 404.
    if (!String(error).includes('404')) throw error;
  });
}

export const behaviour = [
  ['the link of an email unsubscribes and can be undone', unsubscribesFromTheLinkOfAnEmail],
  ['choices are saved', savesChoices],
  ['unsubscribing from everything can only be undone in the same visit', unsubscribesFromEverything],
  ['an address without a contact unsubscribes', worksForAnAddressWithoutAContact],
  ['the page works with the keyboard only', worksWithTheKeyboardOnly],
  ['the page redirects to the URL of the team', redirectsToTheUrlOfTheTeam],
  ['the page is translated to German', isTranslatedToGerman],
  ['an invalid link shows no data', anInvalidLinkShowsNoData],
];
