// Plain HTTP, and what is neither, on the kubelet's port of HTTPS.
import { connect } from 'node:net';
import t from 'tap';
import { serve } from './kubelet-server-peer.js';

const told = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';
const rows: readonly (readonly [sentence: string, sent: string, isTold: boolean])[] = [
  ['a read', 'GET /pods HTTP/1.1\r\nHost: a\r\n\r\n', true],
  ['its head', 'HEAD /pods HTTP/1.1\r\nHost: a\r\n\r\n', true],
  ['a write with a body', 'POST /run/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody', true],
  ['a put', 'PUT /x HTTP/1.1\r\n\r\n', true],
  ['another protocol', 'SSH-2.0-x\r\n', false],
];

function talk(port: number, sent: string): Promise<string> {
  return new Promise((resolve) => {
    let got = '';
    // It does not close by itself.
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true }, () => socket.write(sent));
    socket.on('data', (bytes) => {
      got += bytes.toString('latin1');
    });
    socket.on('error', () => {});
    socket.once('end', () => resolve(got));
    socket.once('close', () => resolve(got));
    t.teardown(() => socket.destroy());
  });
}

t.test('plain HTTP is told what it is', async (t) => {
  const { server } = await serve(t);
  for (const [sentence, sent, isTold] of rows) {
    const got = await talk(server.port, sent);
    if (isTold) t.equal(got, told, sentence);
    else t.notMatch(got, /HTTP/, sentence);
  }
  for (let looks = 0; looks < 1000 && (await server.connections()) > 0; looks++) await new Promise((resolve) => setTimeout(resolve, 5));
  t.equal(await server.connections(), 0, 'no connection is left');
});
