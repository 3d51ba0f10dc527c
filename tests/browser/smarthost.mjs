// A smarthost that accepts all mail and keeps the messages: the part of RFC 5321 that the server uses.
// While `refusal` is set, it is the reply to each recipient.
import net from 'node:net';
import { listen } from '../lib/ports.mjs';

export class Smarthost {
  static async start() {
    const smarthost = new Smarthost();
    smarthost.messages = [];
    smarthost.server = await listen(net.createServer((socket) => smarthost.receive(socket)));
    return smarthost;
  }

  get url() {
    return `smtp://127.0.0.1:${this.server.address().port}`;
  }

  stop() {
    this.server.close();
  }

  /** Accepts the messages of one session. */
  receive(socket) {
    let buffer = '';
    let data = false;
    socket.setEncoding('latin1').on('error', () => {});
    socket.write('220 smarthost.test ESMTP\r\n');
    socket.on('data', (text) => {
      buffer += text;
      for (;;) {
        const end = buffer.indexOf(data ? '\r\n.\r\n' : '\r\n');
        if (end < 0) return;
        const line = buffer.slice(0, end);
        buffer = buffer.slice(end + (data ? 5 : 2));
        if (data) {
          this.messages.push(line);
          data = false;
          socket.write('250 accepted\r\n');
        } else if (/^DATA/i.test(line)) {
          data = true;
          socket.write('354 go on\r\n');
        } else if (/^QUIT/i.test(line)) {
          socket.end('221 bye\r\n');
        } else if (this.refusal && /^RCPT/i.test(line)) {
          socket.write(`${this.refusal}\r\n`);
        } else {
          socket.write('250 ok\r\n');
        }
      }
    });
  }
}
