// Requests as curl commands for a shell.

/** A text in single quotes of a shell. @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * @param {string} method
 * @param {string} url
 * @param {unknown} [body] undefined or null: none
 */
function command(method, url, body) {
  const lines = [`curl${method === 'GET' ? '' : ` -X ${method}`} ${/^[\w:/.?=&%@+~-]*$/.test(url) && !url.includes('&') ? url : quoted(url)}`, `  -H 'Authorization: Bearer YOUR_API_KEY'`];
  if (body !== undefined && body !== null) lines.push(`  -H 'Content-Type: application/json'`, `  -d ${quoted(JSON.stringify(body, null, 2))}`);
  return lines.join(' \\\n');
}

/** Reads a path of the API. @param {string} base @param {string} path */
export function readAsCurl(base, path) {
  return command('GET', base + path);
}

/** The size of a body that was too large for the log; null for every other body. @param {unknown} body */
export function cutBytes(body) {
  const cut = /** @type {{ truncated?: unknown, bytes?: unknown } | null} */ (body);
  return typeof body === 'object' && cut !== null && cut.truncated === true && typeof cut.bytes === 'number' ? cut.bytes : null;
}

/**
 * A request of the log. The log has no contents and secrets: their fields have to be filled in.
 * @param {string} base
 * @param {import('../../types/api.d.ts').Log} log
 */
export function logAsCurl(base, log) {
  return command(log.method, base + log.endpoint, cutBytes(log.request_body) === null ? log.request_body : { '…': 'The body was too large for the log.' });
}

/**
 * Sends the same email again, with its content. Attachments are named, and their content has to be filled in.
 * @param {string} base
 * @param {import('../../types/api.d.ts').EmailResponse} email
 */
export function emailAsCurl(base, email) {
  const some = (/** @type {string[] | null} */ list) => (list?.length ? list : undefined);
  return command('POST', `${base}/emails`, {
    from: email.from, to: email.to, cc: some(email.cc), bcc: some(email.bcc), reply_to: some(email.reply_to), subject: email.subject,
    html: email.html ?? undefined, text: email.text ?? undefined, topic_id: email.topic_id ?? undefined,
    tags: email.tags.length > 0 ? email.tags : undefined,
    attachments: email.attachments.length > 0 ? email.attachments.map(({ filename }) => ({ filename, content: 'BASE64' })) : undefined,
  });
}
