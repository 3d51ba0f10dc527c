// Free ports for the servers of the Node suites, by the rule of ports.py.
import net from 'node:net';

// Below the ports that Linux gives to outgoing connections (32,768 to 60,999), so that no connection takes the port
// before its server listens.
const FIRST = 15_000;
const END = 32_000;
const ATTEMPTS = 100;

/** Makes a server listen on a free port of loopback. Returns the server. */
export async function listen(server) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = FIRST + Math.floor(Math.random() * (END - FIRST));
    const isOurs = await new Promise((resolve, reject) => {
      const failed = (error) => (error.code === 'EADDRINUSE' ? resolve(false) : reject(error));
      server.once('error', failed).listen(port, '127.0.0.1', () => {
        server.off('error', failed);
        resolve(true);
      });
    });
    if (isOurs) return server;
  }
  throw new Error('no free port on 127.0.0.1');
}

/** Returns a port without a listener. Another suite takes the same one at the same time only by chance. */
export async function freePort() {
  const server = await listen(net.createServer());
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
