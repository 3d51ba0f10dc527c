// An HTTP server on loopback that stores the requests it receives, with unchanged bodies.
import { createServer } from 'node:http';
import { until } from './check.mjs';

export class Receiver {
  static async start() {
    const receiver = new Receiver();
    receiver.deliveries = [];
    receiver.responses = new Map();
    receiver.server = createServer((request, response) => {
      const chunks = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        const { url: path, headers } = request;
        // The API shows the id without the prefix.
        const id = headers['svix-id']?.replace(/^msg_/, '');
        receiver.deliveries.push({ path, headers, id, body, event: JSON.parse(body) });
        const [status, text] = receiver.responses.get(request.url) ?? [200, 'received'];
        response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
      });
    });
    await new Promise((resolve, reject) => receiver.server.once('error', reject).listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  url(path) {
    return `http://127.0.0.1:${this.server.address().port}${path}`;
  }

  /** Sets the status and the text of the responses under `path`. */
  respond(path, status, text) {
    this.responses.set(path, [status, text]);
  }

  at(path) {
    return this.deliveries.filter((delivery) => delivery.path === path);
  }

  /** Polls until `accept` returns true for the deliveries to `path`. Returns them. */
  async until(path, accept) {
    try {
      return await until(() => this.at(path), accept);
    } catch {
      throw new Error(`the expected deliveries did not arrive; received ${JSON.stringify(this.at(path).map(({ event }) => event.type))}`);
    }
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Returns a function that checks that the deliveries include each of the types. */
export const hasTypes = (types) => (deliveries) => types.every((type) => deliveries.some(({ event }) => event.type === type));
