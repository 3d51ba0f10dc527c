// Values in the text that the tools return.
import { assert } from '../node/check.mjs';

/** Returns the value of the first line such as `ID: …`. */
export function lineOf(name, text) {
  const found = text.match(new RegExp(`^(?:- )?${name}: (.*)$`, 'm'));
  assert.ok(found, `no line ${name} in: ${text}`);
  return found[1];
}

/** Returns the values of all lines such as `ID: …`. */
export const linesOf = (name, text) => [...text.matchAll(new RegExp(`^${name}: (.*)$`, 'gm'))].map((row) => row[1]);
