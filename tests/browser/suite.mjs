// Checks the pages of recipients in headless Chromium. The script `run` starts it.
import { Suite } from './check.mjs';
import { World } from './world.mjs';
import { appearance } from './appearance.mjs';
import { behaviour } from './behaviour.mjs';

const suite = new Suite(process.argv.slice(2));
const world = await World.start();
try {
  for (const [name, body] of [...behaviour, ...appearance]) await suite.check(name, () => body(world));
} finally {
  await world.stop();
}
if (suite.failed > 0) console.log(world.log());
suite.finish();
