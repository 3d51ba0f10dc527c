// An authoritative name server on loopback. A journey publishes records while it runs.
import dgram from 'node:dgram';
import { freePort } from '../lib/ports.mjs';

const TYPES = { 5: 'CNAME', 15: 'MX', 16: 'TXT' };
const CLASS_IN = 1;
const TTL_S = 1;
const NXDOMAIN = 3;
// RFC 1035 §4.1.1. The question follows.
const HEADER_BYTES = 12;
const STRING_BYTES_MAX = 255;

export class NameServer {
  static async start() {
    const names = new NameServer();
    names.records = [];
    names.socket = dgram.createSocket('udp4');
    names.socket.on('message', (query, { address, port }) => names.socket.send(names.response(query), port, address));
    const port = await freePort();
    await new Promise((resolve, reject) => names.socket.once('error', reject).bind(port, '127.0.0.1', resolve));
    names.address = `127.0.0.1:${port}`;
    return names;
  }

  stop() {
    this.socket.close();
  }

  /** Publishes a record. `value` is the text, the name of the alias, or the host of the MX record. */
  publish({ name, type, value, priority = 10 }) {
    this.records.push({ name: name.toLowerCase(), type, data: rdata(type, value, priority) });
  }

  /** The answers to a question, or the error that the name does not exist. */
  response(query) {
    let at = HEADER_BYTES;
    const labels = [];
    while (query[at] !== 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + query[at]).toLowerCase());
      at += 1 + query[at];
    }
    const end = at + 5;
    const name = labels.join('.'), type = query.readUInt16BE(at + 1);
    const known = this.records.filter((record) => record.name === name);
    const answers = known.filter((record) => record.type === TYPES[type]);
    const isParent = this.records.some((record) => record.name.endsWith(`.${name}`));
    const header = Buffer.alloc(HEADER_BYTES);
    query.copy(header, 0, 0, 2);
    // A response (0x80) with authority (0x04), to a question that may ask for recursion (0x01).
    header[2] = 0x84 | (query[2] & 0x01);
    header[3] = known.length > 0 || isParent ? 0 : NXDOMAIN;
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    return Buffer.concat([header, query.subarray(HEADER_BYTES, end), ...answers.map(({ data }) => answer(type, data))]);
  }
}

/** One answer. Its name refers to the question. */
function answer(type, data) {
  const head = Buffer.alloc(12);
  head.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt16BE(CLASS_IN, 4);
  head.writeUInt32BE(TTL_S, 6);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}

function rdata(type, value, priority) {
  if (type === 'TXT') {
    const parts = [];
    for (let at = 0; at < value.length; at += STRING_BYTES_MAX) parts.push(string(value.slice(at, at + STRING_BYTES_MAX)));
    return Buffer.concat(parts);
  }
  const host = Buffer.concat([...value.replace(/\.$/, '').split('.').map(string), Buffer.from([0])]);
  if (type !== 'MX') return host;
  const preference = Buffer.alloc(2);
  preference.writeUInt16BE(priority);
  return Buffer.concat([preference, host]);
}

function string(text) {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')]);
}
