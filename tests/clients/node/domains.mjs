import { TIMESTAMP, UNKNOWN_ID, UUID, assert } from './check.mjs';

const NAME = 'node-client.example.org';
const STATUSES = ['not_started', 'pending', 'verified', 'partially_verified', 'partially_failed', 'failed'];

export async function domains(suite) {
  let created;
  await suite.check('domains.create', 'a new domain with its records', async () => {
    created = await suite.data('domains.create', {
      name: NAME, region: 'us-east-1', customReturnPath: 'bounce', openTracking: false, clickTracking: false,
      tls: 'opportunistic', capabilities: { sending: 'enabled', receiving: 'disabled' },
    });
    const { object, name, status, region, capabilities, open_tracking, click_tracking } = created;
    assert.deepEqual(
      { object, name, status, region, capabilities, open_tracking, click_tracking },
      {
        object: 'domain', name: NAME, status: 'not_started', region: 'us-east-1',
        capabilities: { sending: 'enabled', receiving: 'disabled' }, open_tracking: false, click_tracking: false,
      },
    );
    assert.match(created.id, UUID);
    assert.match(created.created_at, TIMESTAMP);
    assertRecords(created.records);
    assert.ok(created.records.filter((row) => row.record === 'SPF').every((row) => row.name.startsWith('bounce')));
  });
  if (!created) return;

  await suite.check('domains.create', 'a name that is already registered is 403, no name 422', async () => {
    const again = await suite.refused(403, 'validation_error', 'domains.create', { name: NAME });
    assert.equal(again.message, `The ${NAME} domain has been registered already.`);
    const missing = await suite.refused(422, 'missing_required_field', 'domains.create', {});
    assert.equal(missing.message, 'Missing `name` field.');
    await suite.refused(422, 'validation_error', 'domains.create', { name: 'not a domain' });
  });
  await suite.check('domains.list', 'rows without records, limit and cursors', async () => {
    const page = await suite.data('domains.list');
    assert.deepEqual([page.object, page.has_more], ['list', false]);
    const ready = page.data.find((row) => row.name === 'example.com');
    assert.equal(ready.status, 'verified');
    assert.ok(page.data.every((row) => row.records === undefined && STATUSES.includes(row.status)));
    assert.equal(page.data[0].id, created.id);
    if (suite.isOlder) return; // Version 5 sends no query.
    const newest = await suite.data('domains.list', { limit: 1 });
    assert.deepEqual([newest.has_more, newest.data.map((row) => row.id)], [true, [created.id]]);
    const older = await suite.data('domains.list', { limit: 1, after: created.id });
    assert.equal(older.data[0].id, page.data[1].id);
    const newer = await suite.data('domains.list', { limit: 1, before: page.data[1].id });
    assert.equal(newer.data[0].id, created.id);
  });
  await suite.check('domains.get', 'the domain with its records; an unknown id is 404', async () => {
    const read = await suite.data('domains.get', created.id);
    assert.deepEqual([read.object, read.id, read.name], ['domain', created.id, NAME]);
    assertRecords(read.records);
    assert.equal((await suite.refused(404, 'not_found', 'domains.get', UNKNOWN_ID)).message, 'Domain not found');
  });
  await suite.check('domains.update', 'tracking on, then off', async () => {
    const response = await suite.data('domains.update', { id: created.id, openTracking: true, clickTracking: true, trackingSubdomain: 'links' });
    assert.deepEqual([response.object, response.id], ['domain', created.id]);
    const on = await suite.data('domains.get', created.id);
    assert.deepEqual([on.open_tracking, on.click_tracking, on.tracking_subdomain], [true, true, suite.isOlder ? null : 'links']);
    assertRecords(on.records);
    await suite.data('domains.update', { id: created.id, openTracking: false, clickTracking: false });
    const off = await suite.data('domains.get', created.id);
    assert.deepEqual([off.open_tracking, off.click_tracking], [false, false]);
  });
  await suite.check('domains.verify', 'starts a check', async () => {
    const response = await suite.data('domains.verify', created.id);
    assert.deepEqual([response.object, response.id], ['domain', created.id]);
    const { status } = await suite.data('domains.get', created.id);
    assert.ok(STATUSES.includes(status) && status !== 'verified', status);
    await suite.refused(404, 'not_found', 'domains.verify', UNKNOWN_ID);
  });

  for (const row of [
    [422, 'validation_error', 'the TLS mode is not set per domain', 'domains.update', { id: created.id, tls: 'enforced' }],
    // Version 5 does not send these fields.
    ...(suite.isOlder ? [] : [
      [422, 'validation_error', 'no inbound mail', 'domains.update', { id: created.id, capabilities: { sending: 'enabled', receiving: 'enabled' } }],
      [422, 'validation_error', 'the TLS mode is not set per domain', 'domains.create', { name: 'tls.example.org', tls: 'enforced' }],
      [422, 'validation_error', 'no inbound mail', 'domains.create', { name: 'in.example.org', capabilities: { sending: 'enabled', receiving: 'enabled' } }],
    ]),
    [422, 'validation_error', 'a region this server does not offer', 'domains.create', { name: 'eu.example.org', region: 'eu-west-1' }],
    [404, 'not_found', 'no domain claims', 'domains.claims.create', { name: 'claim.example.org' }],
    [404, 'not_found', 'no domain claims', 'domains.claims.get', created.id],
    [404, 'not_found', 'no domain claims', 'domains.claims.verify', created.id],
  ]) {
    await suite.mustFail(...row);
  }

  await suite.check('domains.remove', 'removed, then 404', async () => {
    assert.deepEqual(await suite.data('domains.remove', created.id), { object: 'domain', id: created.id, deleted: true });
    await suite.refused(404, 'not_found', 'domains.get', created.id);
    await suite.refused(404, 'not_found', 'domains.remove', created.id);
  });
}

/** Asserts that all kinds, types and statuses are in the closed lists of the SDKs. */
function assertRecords(records) {
  for (const row of records) {
    assert.ok(['SPF', 'DKIM', 'Tracking'].includes(row.record), row.record);
    assert.ok({ SPF: ['MX', 'TXT'], DKIM: ['TXT'], Tracking: ['CNAME'] }[row.record].includes(row.type), row.type);
    assert.ok(['not_started', 'pending', 'verified', 'failed', 'temporary_failure'].includes(row.status), row.status);
    assert.ok(row.name.length > 0 && row.value.length > 0);
    assert.equal(row.ttl, 'Auto');
    assert.equal(typeof row.priority, row.type === 'MX' ? 'number' : 'undefined');
  }
  const kinds = records.map((row) => `${row.record} ${row.type}`);
  for (const kind of ['SPF MX', 'SPF TXT', 'DKIM TXT']) assert.ok(kinds.includes(kind), `no ${kind} among ${kinds}`);
}
