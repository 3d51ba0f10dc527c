// What the page does, without JavaScript, with mouse and with keyboard.
import { assert } from './check.mjs';

const topics = [
  ['News', { description: 'Once a month: what we have built.' }],
  ['Offers', { default_subscription: 'opt_out' }],
  ['Events near you', { description: 'Meetings and talks.' }],
];

/** Makes the topics and answers their ids in order. */
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
  assert.equal((await world.chosen(person)).News, 'opt_in', 'looking changes nothing');

  await page.getByRole('button', { name: 'Unsubscribe from News' }).click();
  assert.equal(await heading(page).textContent(), 'You are unsubscribed');
  assert.equal((await world.chosen(person)).News, 'opt_out');
  await page.reload();
  assert.equal(await heading(page).textContent(), 'You are unsubscribed', 'a reload posts nothing');

  await page.getByRole('button', { name: 'Undo' }).click();
  assert.equal(await page.getByRole('status').textContent(), 'You are subscribed again.');
  assert.equal((await world.chosen(person)).News, 'opt_in');
  await page.leave();
}

/** Clicks where something stands, whatever lies over it: as a hand does. */
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
  // The label and the description beside a box belong to it.
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

async function leavesEverythingForGood(world) {
  const [news] = await makeTopics(world);
  const person = await world.person();
  const page = await world.page();
  await page.goto(await world.linkInEmail(person.email, news));

  await page.getByRole('button', { name: 'Unsubscribe from everything' }).click();
  assert.equal(await heading(page).textContent(), 'You are unsubscribed');
  assert.equal(await world.unsubscribed(person), true);

  // The visit itself takes it back.
  await page.getByRole('button', { name: 'Undo' }).click();
  assert.equal(await page.getByRole('status').textContent(), 'You are subscribed again.');
  assert.equal(await world.unsubscribed(person), false);
  assert.equal(await page.getByRole('checkbox').count(), 3);

  // Another one does not.
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

async function worksWithTheKeyboardAlone(world) {
  const [news] = await makeTopics(world);
  const person = await world.person();
  const page = await world.page();
  await page.goto(await world.linkInEmail(person.email, news));

  const names = [];
  for (let step = 0; step < 6; step += 1) {
    await page.keyboard.press('Tab');
    const focused = page.locator(':focus-visible');
    assert.equal(await focused.count(), 1, `something has the focus after ${names.join(', ')}`);
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

async function leadsWhereTheTeamSays(world) {
  const [news] = await makeTopics(world);
  await world.cli('theme', 'set', '--redirect', `${world.elsewhereUrl}/bye?a=1`);
  const person = await world.person();
  const page = await world.page();
  await page.goto(await world.linkInEmail(person.email, news));
  world.visits.length = 0;

  // The page's policy has to allow the redirect that answers its form.
  await page.getByRole('button', { name: 'Unsubscribe from News' }).click();
  await page.getByRole('heading', { name: 'Elsewhere' }).waitFor();

  const visit = world.visits.find(({ url }) => url === '/bye?a=1');
  assert.ok(visit, JSON.stringify(world.visits));
  assert.equal(visit.referer, undefined, 'the address of the page stays a secret');
  assert.equal((await world.chosen(person)).News, 'opt_out');
  await page.leave();
}

async function speaksGerman(world) {
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

async function givesNothingAway(world) {
  const page = await world.page();
  const answer = await page.goto(`${world.origin}/unsubscribe/none`);
  assert.equal(answer.status(), 404);
  assert.equal(await heading(page).textContent(), 'This link does not work');
  assert.equal(await page.getByRole('button').count(), 0);
  await page.leave().catch((error) => {
    // The browser itself notes the 404.
    if (!String(error).includes('404')) throw error;
  });
}

export const behaviour = [
  ['an email’s link unsubscribes, and undoes it', unsubscribesFromTheLinkOfAnEmail],
  ['choices are saved', savesChoices],
  ['everything is left, and taken back within the visit alone', leavesEverythingForGood],
  ['an address without a contact unsubscribes', worksForAnAddressWithoutAContact],
  ['the keyboard alone does it all', worksWithTheKeyboardAlone],
  ['a team’s redirect is followed', leadsWhereTheTeamSays],
  ['the page speaks German', speaksGerman],
  ['a link that leads nowhere gives nothing away', givesNothingAway],
];
