// Checks the pages of recipients and the dashboard in headless Chromium. The script `run` starts it.
import { Suite } from './check.mjs';
import { World } from './world.mjs';
import { appearance } from './appearance.mjs';
import { behaviour } from './behaviour.mjs';
import { RewritingWorld, rewriting } from './rewriting.mjs';
import { access } from './dashboard/access.mjs';
import { answers } from './dashboard/answers.mjs';
import { broadcastDrifts } from './dashboard/broadcast-drift.mjs';
import { reports } from './dashboard/broadcast-report.mjs';
import { broadcasts } from './dashboard/broadcasts.mjs';
import { composer } from './dashboard/composer.mjs';
import { controls } from './dashboard/controls.mjs';
import { details } from './dashboard/details.mjs';
import { docs } from './dashboard/docs.mjs';
import { drifts, sessionDrifts } from './dashboard/drift.mjs';
import { emails } from './dashboard/emails.mjs';
import { firstSteps } from './dashboard/first-steps.mjs';
import { hostile } from './dashboard/hostile.mjs';
import { PICTURES } from './dashboard/inspect.mjs';
import { broadcastJourneys } from './dashboard/journeys/broadcasts.mjs';
import { devJourneys } from './dashboard/journeys/dev.mjs';
import { serveJourneys } from './dashboard/journeys/serve.mjs';
import { keyboard } from './dashboard/keyboard.mjs';
import { live } from './dashboard/live.mjs';
import { metrics } from './dashboard/metrics.mjs';
import { notes } from './dashboard/notes.mjs';
import { operate } from './dashboard/operate.mjs';
import { pages } from './dashboard/pages.mjs';
import { relay } from './dashboard/relay.mjs';
import { devSamples, serveSamples } from './dashboard/samples.mjs';
import { statics } from './dashboard/static.mjs';
import { unused } from './dashboard/unused.mjs';
import { DevWorld, FakeWorld, RelayWorld, ServeWorld } from './dashboard/world.mjs';

const suite = new Suite(process.argv.slice(2).filter((word) => !word.startsWith('--')));

/** Pages that are looked at at the same time. */
const PAGE_WORKERS = 2;

const development = () => suite.inside(DevWorld, [...devJourneys, ...broadcastJourneys, ...emails, ...hostile, ...operate, ...live, ...answers, ...drifts, ...broadcastDrifts, ...controls, ...devSamples, ...keyboard, ...docs]);

const invented = () => suite.inside(FakeWorld, [...details, ...reports, ...firstSteps, ...composer, ...notes, ...broadcasts, ...metrics]);

async function otherServers() {
  await suite.inside(ServeWorld, [...serveJourneys, ...access, ...sessionDrifts, ...serveSamples]);
  await suite.inside(RelayWorld, relay);
  await suite.inside(World, [...behaviour, ...appearance]);
  await suite.inside(RewritingWorld, rewriting);
}

if (PICTURES) {
  await suite.inside(DevWorld, pages);
  await suite.inside(ServeWorld, access);
} else {
  for (const [name, body] of [...statics, ...unused]) await suite.check(name, body);
  const all = suite.inside(DevWorld, pages, PAGE_WORKERS);
  await (process.env.DASHBOARD_URL ? all : Promise.all([all, development(), invented(), otherServers()]));
}
suite.finish();
