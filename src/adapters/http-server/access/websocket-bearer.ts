// A bearer token among the subprotocols of a WebSocket: browsers can't set headers, so it comes beside the real protocol
// (spec/config-and-api.md, 9.1). Invariant: it is for this server only; the request to the runtime is without it.
import type { IncomingHttpHeaders } from 'node:http';

const prefix = 'base64url.bearer.authorization.k8s.io.';
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const protocolsOf = (value: string): string[] => value.split(',').map((protocol) => protocol.trim());

/** null: absent. 'invalid': more than one, no real protocol beside it, or not base64url of UTF-8. */
export function websocketBearer(headers: IncomingHttpHeaders): { readonly token: string } | 'invalid' | null {
  if (headers.upgrade?.toLowerCase() !== 'websocket' || !/\bupgrade\b/i.test(headers.connection ?? '')) return null;
  const protocols = protocolsOf(headers['sec-websocket-protocol'] ?? '');
  const [given, ...more] = protocols.filter((protocol) => protocol.startsWith(prefix));
  if (given === undefined) return null;
  const encoded = given.slice(prefix.length);
  if (more.length > 0 || protocols.length === 1 || !/^[\w-]*$/.test(encoded) || encoded.length % 4 === 1) return 'invalid';
  try {
    const token = utf8.decode(Buffer.from(encoded, 'base64url'));
    return token === '' ? null : { token };
  } catch {
    return 'invalid';
  }
}

/** The value of a header of subprotocols; '' when nothing else is in it. */
export function withoutWebsocketBearer(value: string): string {
  const protocols = protocolsOf(value);
  const others = protocols.filter((protocol) => !protocol.startsWith(prefix));
  return others.length === protocols.length ? value : others.join(', ');
}
