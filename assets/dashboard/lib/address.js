// Addresses of email as text.

/** The address of `Acme <a@acme.com>`. @param {string} from */
export function addressOf(from) {
  return /<([^<>]*)>\s*$/.exec(from)?.[1] ?? from.trim();
}

/** The domain of an address, with or without a display name. @param {string} from */
export function domainOf(from) {
  const address = addressOf(from);
  return address.slice(address.lastIndexOf('@') + 1);
}

/** Whether the outcome of an email to this address is simulated. Such an address never joins the suppression list. @param {string} address */
export function isSimulated(address) {
  return ['resend.dev', 'ringmail.test'].includes(domainOf(address).toLowerCase());
}

/** Domains with so many mailboxes that a name close to one is probably a typing mistake. */
const FREQUENT = ['gmail.com', 'mail.com', 'ymail.com', 'googlemail.com', 'outlook.com', 'hotmail.com', 'live.com', 'yahoo.com', 'icloud.com', 'aol.com', 'proton.me', 'gmx.de', 'gmx.net', 'web.de', 'orange.fr', 'free.fr', 'mail.ru', 'qq.com'];

/** Changes of one letter, a missing, a further or two swapped letters, between two words. @param {string} a @param {string} b */
function distance(a, b) {
  /** @type {number[][]} */
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (/** @type {number} */ i, /** @type {number} */ j) => rows[i]?.[j] ?? 0;
  for (let i = 1; i <= a.length; i += 1) {
    const row = rows[i] = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(a.length, b.length);
}

/** The address that was probably meant: `ada@gmail.com` for `ada@gmial.com`; null without a likely mistake. @param {string} address */
export function likelyAddress(address) {
  const domain = domainOf(address).toLowerCase();
  if (FREQUENT.includes(domain)) return null;
  const near = FREQUENT.map((one) => ({ one, far: distance(domain, one) })).filter(({ one, far }) => far <= (one.length > 8 ? 2 : 1)).sort((a, b) => a.far - b.far)[0];
  return near ? `${address.slice(0, address.lastIndexOf('@') + 1)}${near.one}` : null;
}
