// Checks that print one line each, and the counts at the end.
import { strict as assert } from 'node:assert';

export { assert };

const CHECK_TIMEOUT_MS = 60_000;

export class Suite {
  /** `words`: only checks whose name contains one of them run. An empty list runs all checks. */
  constructor(words) {
    this.words = words;
    this.passed = 0;
    this.failed = 0;
  }

  /** Runs one check. */
  async check(name, body) {
    if (this.words.length > 0 && !this.words.some((word) => name.includes(word))) return;
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done within ${CHECK_TIMEOUT_MS} ms`)), CHECK_TIMEOUT_MS);
    });
    try {
      await Promise.race([body(), late]);
      this.passed += 1;
      console.log(`browser: ${name} ok`);
    } catch (error) {
      this.failed += 1;
      console.log(`browser: ${name} FAILED: ${String(error?.stack ?? error).replace(/\n/g, '\n    ')}`);
    } finally {
      clearTimeout(timer);
    }
  }

  finish() {
    console.log(`browser: ${this.passed} passed, ${this.failed} failed`);
    process.exitCode = this.failed === 0 && this.passed > 0 ? 0 : 1;
  }
}
