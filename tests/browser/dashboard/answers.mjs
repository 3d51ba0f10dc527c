// Answers of the real server that types/metrics.d.ts describes by hand and that the fake server has too.
import { join } from 'node:path';
import { assert, until } from '../check.mjs';
import { invented } from './drift.mjs';
import { ROOT, typeFindings } from './types.mjs';

/** States of the fake server with another answer of `GET /deliverability`. */
const STATES = ['full', 'warning', 'paused', 'observed', 'region', 'few', 'empty'];
const WEEK_MS = 7 * 86_400_000;

/** The paths of the fields of an answer, such as `days[].date`. */
function fields(value, path = '') {
  if (Array.isArray(value)) return [...new Set(value.flatMap((one) => fields(one, `${path}[]`)))].sort();
  if (value === null || typeof value !== 'object') return [path];
  return Object.entries(value).flatMap(([name, one]) => fields(one, path ? `${path}.${name}` : name)).sort();
}

/** The limits of each rate. */
function limits({ guardrail: { bounce, complaint } }) {
  const of = ({ limit, window_days, min_count, min_sent }) => ({ limit, window_days, min_count, min_sent });
  return [bounce, complaint].map(({ warning, pause }) => ({ warning: of(warning), pause: of(pause) }));
}

/** Sends an email that fails a check of its content. Returns its id after the check, which a worker does some seconds later. */
async function checkedEmail(world) {
  const id = await world.send({ html: '<p><a href="https://bit.ly/x">Read more</a></p>' });
  await until('the checks of the content', async () => (await world.context.request.get(`${world.origin}/dashboard/api/emails/${id}/insights`)).ok());
  return id;
}

/** Returns the id of the checked email, which the checks share. */
function aCheckedEmail(world) {
  world.checkedEmail ??= checkedEmail(world);
  return world.checkedEmail;
}

/** The page of deliverability gets the same fields and limits from both servers, and its figures agree with each other. */
async function theDeliverabilityIsThatOfTheServer(world) {
  await aCheckedEmail(world);
  const real = await world.read('/deliverability');
  const fake = invented('/deliverability');
  assert.deepEqual(fields(fake), fields(real));
  assert.deepEqual(limits(fake), limits(real));
  assert.equal(fake.days.length, real.days.length);
  for (const { guardrail, score, days } of [real, fake]) {
    const sum = (field, last) => days.slice(-last).reduce((all, day) => all + day[field], 0);
    assert.ok(score.emails_sent > 0);
    assert.equal(sum('sent', days.length), score.emails_sent);
    for (const [field, { warning, pause }] of [['sent_and_bounced', guardrail.bounce], ['sent_and_complained', guardrail.complaint]]) {
      for (const { window_days, sent, count } of [warning, pause]) assert.deepEqual([sum('sent', window_days), sum(field, window_days)], [sent, count]);
    }
    for (const { date } of days) assert.match(date, /^\d{4}-\d\d-\d\d$/);
  }
  assert.ok(real.factors.some(({ check, failed_recipients }) => check === 'no_shorteners' && failed_recipients > 0), JSON.stringify(real.factors));
}

/** The answers of both servers have the types of types/metrics.d.ts. */
async function theAnswersHaveTheirTypes(world) {
  const id = await aCheckedEmail(world);
  const start = new Date(Date.now() - WEEK_MS).toISOString().slice(0, 10);
  const typed = [
    ['DeliverabilityAnswer', [await world.read('/deliverability'), ...STATES.map((state) => invented('/deliverability', state))]],
    ['InsightsAnswer', [await world.read(`/emails/${id}/insights`), invented(`/emails/${id}/insights`)]],
    ['MetricsAnswer', [await world.read(`/emails/metrics?metrics=sent,delivery_rate&dimensions=period&start_date=${start}`)]],
    ['AuditRow', [...(await world.read('/audit')).data, ...invented('/audit').data]],
  ];
  // A function keeps the texts of the answer as literal types, and allows fields that no page uses.
  const lines = typed.flatMap(([type, answers]) => [`const is${type} = <A extends metrics.${type}>(answer: A) => answer;`, ...answers.map((one) => `is${type}(${JSON.stringify(one)});`)]);
  const text = [`import type * as metrics from ${JSON.stringify(join(ROOT, 'types/metrics.d.ts'))};`, ...lines].join('\n');
  assert.equal(await typeFindings([], { 'answers.ts': text }), '');
}

export const answers = [
  ['dashboard: the deliverability of both servers has the same fields', theDeliverabilityIsThatOfTheServer],
  ['dashboard: the answers of both servers have their types', theAnswersHaveTheirTypes],
];
