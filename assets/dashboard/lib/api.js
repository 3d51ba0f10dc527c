// The one module that calls `fetch`. Paths are those of the API; they lie below /dashboard/api.

const BASE = '/dashboard/api';

/** An answer of the server that is no success. `name` and `message` are the API's. */
export class ApiError extends Error {
  /**
   * @param {number} status HTTP status, 0 if the server did not answer
   * @param {string} name
   * @param {string} message
   * @param {string | null} requestId
   */
  constructor(status, name, message, requestId) {
    super(message);
    this.status = status;
    this.name = name;
    this.requestId = requestId;
  }
}

/** @typedef {Record<string, string | number | boolean | null | undefined>} Query */
/** @typedef {{ query?: Query, body?: unknown, signal?: AbortSignal, headers?: Record<string, string> }} Options */

/**
 * The address of a path of the API, for links and frames.
 * @param {string} path
 * @param {Query} [query]
 */
export function apiUrl(path, query = {}) {
  const pairs = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const search = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return BASE + path + (search && `?${search}`);
}

/**
 * Sends a request and returns the body: JSON, or text of another type.
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 * @returns {Promise<any>}
 */
async function send(method, path, { query, body, signal, headers = {} } = {}) {
  const sent = { ...headers };
  if (method !== 'GET') sent['x-ringmail-dashboard'] = '1';
  if (body !== undefined) sent['content-type'] = 'application/json';
  let response;
  try {
    response = await fetch(apiUrl(path, query), {
      method, headers: sent, signal, body: body === undefined ? undefined : JSON.stringify(body), credentials: 'same-origin', cache: 'no-store',
      // A deletion that waited for its undo is sent while the page goes away.
      keepalive: method === 'DELETE',
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, 'unreachable', 'The server does not answer. Check that it runs, then try again.', null);
  }
  if (response.status === 401) signInAgain();
  const json = /\bjson\b/.test(response.headers.get('content-type') ?? '');
  const text = await response.text();
  let value = /** @type {any} */ (text);
  if (json && text) try { value = JSON.parse(text); } catch { value = null; }
  if (response.ok) return value;
  const said = json && value && typeof value.message === 'string' ? value : null;
  throw new ApiError(response.status, said?.name ?? 'error', said?.message ?? `The server answered with status ${response.status}.`,
    response.headers.get('x-request-id'));
}

/** Opens the sign-in page, which leads back to the current page. */
function signInAgain() {
  const { pathname, search } = location;
  location.assign(`/dashboard/login?next=${encodeURIComponent(pathname + search)}`);
}

export const api = {
  /** @param {string} path @param {Query} [query] @param {AbortSignal} [signal] */
  get: (path, query, signal) => send('GET', path, { query, signal }),
  /** @param {string} path @param {unknown} [body] @param {Options} [options] */
  post: (path, body, options) => send('POST', path, { ...options, body }),
  /** @param {string} path @param {unknown} body */
  patch: (path, body) => send('PATCH', path, { body }),
  /** @param {string} path @param {unknown} body */
  put: (path, body) => send('PUT', path, { body }),
  /** @param {string} path */
  del: (path) => send('DELETE', path),
};

/** Time without a byte until a stream counts as broken. The server sends a comment every 15 s. */
const SILENT_MAX_MS = 40_000;

/**
 * Reads the event stream of the session's team until it ends. An `EventSource` would need the names of all
 * event types, and hides the status of a refusal.
 * @param {{ onOpen: () => void, onEvent: (type: string, data: any) => void }} options
 * @returns {Promise<number>} seconds to wait after a refusal; 0 if the stream was open and has ended
 */
export async function readEvents({ onOpen, onEvent }) {
  const abort = new AbortController();
  let silent = 0;
  const received = () => { clearTimeout(silent); silent = setTimeout(() => abort.abort(), SILENT_MAX_MS); };
  received();
  try {
    const response = await fetch(apiUrl('/events'), { credentials: 'same-origin', cache: 'no-store', signal: abort.signal, headers: { accept: 'text/event-stream' } });
    // The stream ends with its session, so that a page whose session was ended elsewhere shows no data any longer.
    if (response.status === 401) signInAgain();
    if (!response.ok || !response.body) return Number(response.headers.get('retry-after')) || 5;
    onOpen();
    await readBlocks(response.body.pipeThrough(new TextDecoderStream()).getReader(), received, onEvent);
    return 0;
  } finally {
    clearTimeout(silent);
  }
}

/**
 * @param {ReadableStreamDefaultReader<string>} reader
 * @param {() => void} received
 * @param {(type: string, data: any) => void} onEvent
 */
async function readBlocks(reader, received, onEvent) {
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    received();
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const lines = block.split('\n');
      const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5)).join('\n');
      if (!data) continue;
      const event = JSON.parse(data);
      onEvent(lines.find((line) => line.startsWith('event:'))?.slice(6).trim() ?? event.type ?? 'message', event);
    }
  }
}

/** Signs out: the server ends the session and shows the next page, which depends on the kind of sign-in. */
export function signOut() {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = '/dashboard/logout';
  document.body.append(form);
  form.submit();
}
