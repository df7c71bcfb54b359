// The mock runtime's answer to an SPDY/3.1 upgrade request: the chosen protocol, or a refusal in the words of Kubernetes' own servers.
// Invariant: nothing is read of the connection before it is answered.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { spdyUpgrade } from '../../streaming/index.js';

const protocolHeader = 'x-stream-protocol-version';

/** A client's offers in `X-Stream-Protocol-Version`, in one or several headers, in its order. */
export function offeredStreamProtocols({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): readonly string[] {
  const offered: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== protocolHeader) continue;
    for (const name of (rawHeaders[i + 1] ?? '').split(',')) if (name.trim() !== '') offered.push(name.trim());
  }
  return offered;
}

export type Negotiated = { readonly protocol: string } | { readonly refusal: string };

/** A client without offers gets the first of all, if supported. @param spoken the preferred one first */
export function negotiate(request: IncomingMessage, spoken: readonly string[], unsaid: string | null): Negotiated {
  const offered = offeredStreamProtocols(request);
  if (offered.length === 0 && unsaid !== null) return { protocol: unsaid };
  const protocol = offered.find((name) => spoken.includes(name));
  if (protocol !== undefined) return { protocol };
  return { refusal: `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(' ')}], server accepts [${spoken.join(' ')}]` };
}

/** @param protocol null: omitted, since the client did not request one */
export function switchToSpdy(socket: Duplex, protocol: string | null): void {
  const said = protocol === null ? [] : [`X-Stream-Protocol-Version: ${protocol}`];
  socket.write(['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${spdyUpgrade}`, ...said, '', ''].join('\r\n'));
}
