// Checks that print one line each, and the counts at the end.
import { strict as assert } from 'node:assert';

export { assert };

// A full run looks at a page in six ways within one check.
const CHECK_TIMEOUT_MS = process.argv.includes('--full') ? 240_000 : 120_000;
const DEADLINE_MS = 30_000;

/** Polls `read` until it returns a truthy value. Returns the value. */
export async function until(what, read) {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const value = await read();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`waited ${DEADLINE_MS} ms for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Returns the check of a journey. Its time is that of `act`, which gets the result of `prepare`. */
export function journey(name, prepare, act) {
  return [`journey: ${name}`, async (world) => {
    const prepared = await prepare(world);
    const began = performance.now();
    await act(world, prepared);
    return performance.now() - began;
  }];
}

export class Suite {
  /** `words`: only checks whose name contains one of them run. An empty list runs all checks. */
  constructor(words) {
    this.words = words;
    this.passed = 0;
    this.failed = 0;
  }

  /** Returns whether the check with this name runs. */
  wants(name) {
    return this.words.length === 0 || this.words.some((word) => name.includes(word));
  }

  /**
   * Runs the checks in an environment of their own, if one of them is wanted. `workers` of them run at a time; a check gets
   * the number of its worker.
   */
  async inside(World, checks, workers = 1) {
    const wanted = checks.filter(([name]) => this.wants(name));
    if (wanted.length === 0) return;
    const world = await World.start();
    const failed = this.failed;
    const work = async (worker) => {
      for (let check = wanted.shift(); check; check = wanted.shift()) await this.check(check[0], () => check[1](world, worker));
    };
    try {
      await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
    } finally {
      await world.stop();
    }
    if (this.failed > failed) console.log(world.log());
  }

  /** Runs one check, and prints its time. A journey returns its time. */
  async check(name, body) {
    if (!this.wants(name)) return;
    const began = performance.now();
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done within ${CHECK_TIMEOUT_MS} ms`)), CHECK_TIMEOUT_MS);
    });
    try {
      const took_ms = (await Promise.race([body(), late])) ?? performance.now() - began;
      this.passed += 1;
      console.log(`browser: ${name} ok, ${Math.round(took_ms)} ms`);
    } catch (error) {
      this.failed += 1;
      console.log(`browser: ${name} FAILED: ${String(error?.stack ?? error).replace(/\n/g, '\n    ')}`);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Prints the counts and ends the process: a failed check may have left a server of its own. */
  finish() {
    console.log(`browser: ${this.passed} passed, ${this.failed} failed`);
    process.exit(this.failed === 0 && this.passed > 0 ? 0 : 1);
  }
}
