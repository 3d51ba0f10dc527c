// The pages to operate, with the real server.
import { assert } from '../check.mjs';

async function aRefusalExplainsItself(world) {
  await fetch(`${world.origin}/emails`, { method: 'POST', headers: { authorization: 'Bearer rm_0123456789abcdefghijklmnopqrstuv', 'content-type': 'application/json' }, body: JSON.stringify({ from: 'a@not-ours.test', to: 'b@example.net', subject: 'x', text: 'x' }) });
  const page = await world.tab();
  await page.show('/logs?status=4');
  await page.getByRole('link', { name: 'POST /emails' }).first().click();
  const drawer = page.getByRole('dialog');
  await drawer.getByText(/domain is not verified/).first().waitFor();
  assert.match(page.url(), /request=/);
  await page.keyboard.press('Escape');
  await drawer.waitFor({ state: 'hidden' });
  assert.doesNotMatch(page.url(), /request=/);
  await page.leave();
}

async function anAddressIsSuppressedCheckedAndRemoved(world) {
  const page = await world.tab();
  page.expected = /404/;
  await page.show('/suppressions?q=mallory@example.net');
  await page.getByText('mallory@example.net is not suppressed.').waitFor();
  await page.getByRole('button', { name: 'Suppress addresses' }).click();
  assert.equal(await page.getByRole('textbox', { name: 'Addresses' }).inputValue(), 'mallory@example.net');
  await page.getByRole('dialog').getByRole('button', { name: 'Suppress addresses' }).click();
  await page.getByText('mallory@example.net is suppressed.').waitFor();
  await page.getByRole('link', { name: /mallory/ }).click();
  await page.getByRole('button', { name: 'Remove…' }).click();
  await page.getByRole('button', { name: 'Remove address' }).click();
  await page.getByText('Choose the reason first.').waitFor();
  await page.getByLabel('It was added by mistake').check();
  await page.getByRole('button', { name: 'Remove address' }).click();
  await page.getByText('mallory@example.net is not suppressed.').waitFor();
  await page.leave();
}

async function aDomainIsAddedWithItsRecords(world) {
  const page = await world.tab();
  await page.show('/domains');
  await page.getByRole('button', { name: 'Add domain' }).first().click();
  await page.getByLabel('Domain', { exact: true }).fill('mail.added.example');
  await page.getByRole('dialog').getByRole('button', { name: 'Add domain' }).click();
  await page.getByRole('heading', { level: 1, name: 'mail.added.example' }).waitFor();
  assert.equal(await page.locator('.rec').count(), 5);
  await page.getByText('send.mail', { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'Full names' }).click();
  await page.getByRole('button', { name: 'Verify domain' }).click();
  await page.getByText('The records are looked up again').waitFor();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Delete domain…' }).click();
  await page.getByLabel('Name of the domain').fill('mail.added.example');
  await page.getByRole('button', { name: 'Delete domain', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Domains' }).waitFor();
  await page.leave();
}

async function anEndpointIsRotatedDisabledAndDeleted(world) {
  const { id } = await world.call('POST', '/webhooks', { endpoint: 'http://127.0.0.1:9/hook', events: ['email.bounced'] });
  const page = await world.tab();
  await page.show(`/webhooks/${id}`);
  await page.getByRole('button', { name: 'Rotate secret…' }).click();
  await page.getByRole('button', { name: 'Rotate secret', exact: true }).click();
  await page.getByText('Two secrets sign.').waitFor();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Disable…' }).click();
  await page.getByRole('button', { name: 'Disable endpoint' }).click();
  await page.getByRole('button', { name: 'Enable again' }).click();
  await page.getByText('Enabled', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('button', { name: 'Delete…' }).click();
  await page.getByRole('button', { name: 'Delete endpoint' }).click();
  await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
  await page.leave();
}

/** In `dev` there is one session: that of the link. */
async function theOwnSessionIsMarked(world) {
  const page = await world.tab();
  await page.show('/sessions');
  await page.getByText('This one').waitFor();
  assert.equal(await page.getByRole('row').count(), 2, 'a head and one session');
  assert.equal(await page.getByRole('button', { name: 'Sign out elsewhere…' }).getAttribute('title'), 'You are signed in nowhere else.');
  await page.leave();
}

async function theOverviewLeadsToTheCause(world) {
  const { id } = await world.call('POST', '/domains', { name: 'mail.unchecked.example' });
  const page = await world.tab();
  await page.show('/');
  await page.getByRole('link', { name: /mail\.unchecked\.example/ }).click();
  await page.getByRole('heading', { level: 1, name: 'mail.unchecked.example' }).waitFor();
  await world.call('DELETE', `/domains/${id}`);
  await page.leave();
}

export const operate = [
  ['dashboard: a refusal explains itself in the log', aRefusalExplainsItself],
  ['dashboard: an address is suppressed, checked and removed', anAddressIsSuppressedCheckedAndRemoved],
  ['dashboard: a domain is added with its records', aDomainIsAddedWithItsRecords],
  ['dashboard: an endpoint is rotated, disabled and deleted', anEndpointIsRotatedDisabledAndDeleted],
  ['dashboard: the own session is marked', theOwnSessionIsMarked],
  ['dashboard: the overview leads to the cause', theOverviewLeadsToTheCause],
];
