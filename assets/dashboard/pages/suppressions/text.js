// The reasons of suppressions in words.

/** @typedef {import('../../types/api.d.ts').Suppression} Suppression */
/** @typedef {Suppression['origin']} Origin */

/** Word and look of each origin. @type {Record<Origin, [string, import('../../components/pill.js').PillLook]>} */
export const ORIGINS = {
  bounce: ['Bounced', { tone: 'red' }], complaint: ['Complained', { tone: 'amber', fill: true }],
  manual: ['Added by hand', {}], unsubscribe: ['Unsubscribed', { hollow: true }],
};

/** Cause by origin. @type {Record<Origin, string>} */
export const CAUSES = {
  bounce: 'An email to this address bounced for good: the server of the recipient says that it does not exist or takes no mail.',
  complaint: 'The recipient reported an email as spam.',
  manual: 'Somebody of the team, or a program, added the address.',
  unsubscribe: 'The recipient opted out of emails under a topic.',
};

/** Effect by origin. @type {Record<Origin, string>} */
export const EFFECTS = {
  bounce: 'Nothing is sent to it. Each further bounce would harm the reputation of your domain.',
  complaint: 'Nothing is sent to it. A second complaint weighs far more than the first.',
  manual: 'Nothing is sent to it.',
  unsubscribe: 'Emails under a topic are not sent to it. Emails without a topic, such as a receipt, are.',
};

/** Reasons to remove an entry, by origin. @type {Record<Origin, [string, string][]>} */
export const REASONS = {
  bounce: [['works_again', 'The address works again'], ['mistake', 'It was a mistake of the other server'], ['asked', 'The recipient asked for our emails']],
  complaint: [['asked', 'The recipient asked for our emails again']],
  manual: [['mistake', 'It was added by mistake'], ['asked', 'The recipient asked for our emails'], ['works_again', 'The address works again']],
  unsubscribe: [['asked', 'The recipient asked for our emails again']],
};

/** Whether a text is a whole address. @param {string} text */
export function isAddress(text) {
  return /^[^@\s]+@[^@\s]+\.[^@\s.]{2,}$/.test(text.trim());
}

/** The addresses in a text, separated by lines, commas or semicolons. @param {string} text */
export function addressesIn(text) {
  return [...new Set(text.split(/[\n,;]+/).map((one) => one.trim()).filter(Boolean))];
}
