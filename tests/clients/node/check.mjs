// Shared code of the JavaScript suites: checks that print one line each, the counts at the end, and
// polling with a deadline.
import { strict as assert } from 'node:assert';

export { assert };

export class Suite {
  /** With `has`, a function that returns whether the client has a method, checks of other methods are left out. */
  constructor(name, has = () => true) {
    this.name = name;
    this.has = has;
    this.passed = 0;
    this.failed = 0;
    this.called = new Set();
  }

  /** Runs one check of `method`. `note` describes the expected result. */
  async check(method, note, body) {
    if (!this.has(method)) return;
    try {
      await body();
      this.pass(`${method} ok (${note})`);
    } catch (error) {
      this.fail(method, note, error);
    }
  }

  /** Runs the checks of one part. An exception outside a check fails the part, and the other parts still run. */
  async part(checks, ...args) {
    try {
      await checks(this, ...args);
    } catch (error) {
      this.fail(checks.name, 'outside the checks', error);
    }
  }

  pass(text) {
    this.passed += 1;
    console.log(`client ${this.name}: ${text}`);
  }

  fail(method, note, error) {
    this.failed += 1;
    const reason = (error?.message ?? String(error)).replace(/\n+/g, '\n    ');
    console.log(`client ${this.name}: ${method} FAILED (${note}): ${reason}`);
  }

  /** Fails each method of the SDK that no check has called. */
  cover(methods) {
    for (const method of methods) {
      if (!this.called.has(method)) this.fail(method, 'coverage', 'no check calls this method of the SDK');
    }
    console.log(`client ${this.name}: called ${methods.filter((method) => this.called.has(method)).length} of ${methods.length} methods`);
  }

  finish() {
    console.log(`client ${this.name}: ${this.passed} passed, ${this.failed} failed`);
    process.exitCode = this.failed === 0 ? 0 : 1;
  }
}

/** Polls `read` until `accept` returns true for its result. The error contains the last result. */
export async function until(read, accept, timeout_ms = 60_000) {
  const deadline = Date.now() + timeout_ms;
  for (;;) {
    const value = await read();
    if (accept(value)) return value;
    if (Date.now() > deadline) {
      throw new Error(`not within ${timeout_ms} ms; last seen: ${JSON.stringify(value)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
export const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
// Message of a 404 for a path that does not exist. Other 404 responses are about a row.
export const NO_ENDPOINT = 'The requested endpoint does not exist.';
export const UNKNOWN_ID = '00000000-0000-7000-8000-000000000000';

/** Returns the time `hours` from now, in RFC 3339 with milliseconds. */
export const inHours = (hours) => new Date(Date.now() + hours * 3_600_000).toISOString();
