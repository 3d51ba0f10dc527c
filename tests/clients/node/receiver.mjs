// A real HTTP server on loopback that keeps what is posted to it, each body as it came.
import { createServer } from 'node:http';
import { until } from './check.mjs';

export class Receiver {
  static async start() {
    const receiver = new Receiver();
    receiver.deliveries = [];
    receiver.answers = new Map();
    receiver.server = createServer((request, response) => {
      const chunks = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        const { url: path, headers } = request;
        // The delivery's id in the API is what follows the prefix.
        const id = headers['svix-id']?.replace(/^msg_/, '');
        receiver.deliveries.push({ path, headers, id, body, event: JSON.parse(body) });
        const [status, text] = receiver.answers.get(request.url) ?? [200, 'received'];
        response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
      });
    });
    await new Promise((resolve, reject) => receiver.server.once('error', reject).listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  url(path) {
    return `http://127.0.0.1:${this.server.address().port}${path}`;
  }

  /** Answers with another status and text under `path` from here on. */
  answer(path, status, text) {
    this.answers.set(path, [status, text]);
  }

  at(path) {
    return this.deliveries.filter((delivery) => delivery.path === path);
  }

  /** Waits until what came to `path` is as `accept` wants it. */
  async until(path, accept) {
    try {
      return await until(() => this.at(path), accept);
    } catch {
      throw new Error(`waited in vain; received ${JSON.stringify(this.at(path).map(({ event }) => event.type))}`);
    }
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Whether the deliveries tell of every one of the types. */
export const hasTypes = (types) => (deliveries) => types.every((type) => deliveries.some(({ event }) => event.type === type));
