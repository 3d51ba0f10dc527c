// Markup: `t.TAG(props, ...children)` makes an element, `h(COMPONENT, props, ...children)` a component.
// The type check knows each tag's properties, so a misspelt one is an error.
import { Fragment, h } from '../vendor/preact.js';

/** @typedef {import('../vendor/preact.js').ComponentChildren} Children */
/** @typedef {import('../vendor/preact.js').VNode<any>} Node */
/** @typedef {import('../vendor/preact.js').JSX.IntrinsicElements} Tags */
/** @typedef {{ [name: `data-${string}`]: string | undefined }} Data */
/** @typedef {{ [Name in keyof Tags]: (props?: (Tags[Name] & Data) | null, ...children: Children[]) => Node }} TagFunctions */

/** @type {Record<string, unknown>} */
const made = {};

/** A function for each tag of HTML and SVG. */
export const t = /** @type {TagFunctions} */ (new Proxy(made, {
  get(tags, name) {
    const tag = String(name);
    tags[tag] ??= (/** @type {any} */ props, /** @type {Children[]} */ ...children) => h(/** @type {any} */ (tag), props, ...children);
    return tags[tag];
  },
}));

/**
 * Several nodes where one is expected.
 * @param {Children[]} children
 */
export function fragment(...children) {
  return h(Fragment, null, ...children);
}

/**
 * Joins class names and leaves out the false ones.
 * @param {(string | false | null | undefined)[]} names
 */
export function cls(...names) {
  return names.filter(Boolean).join(' ') || undefined;
}

