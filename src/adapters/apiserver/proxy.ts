// The way to the server through an HTTP proxy: which proxy, and a tunnel through it.
// Invariants: the proxy sees nothing but the server's host and port; its own credentials go to the proxy only and are in no message.
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { BlockList, isIP, type Socket } from 'node:net';

/** The proxy that the environment has for a server; null: none. A kubeconfig's own counts more. Throws on one that is no URL. */
export function environmentProxy(server: URL, environment: Readonly<Record<string, string | undefined>>): string | null {
  const scheme = server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const proxy = environment[scheme] ?? environment[scheme.toLowerCase()] ?? '';
  if (proxy === '' || isExcluded(server, environment.NO_PROXY ?? environment.no_proxy ?? '')) return null;
  return proxy.includes('://') ? proxy : `http://${proxy}`;
}

function isExcluded(server: URL, list: string): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, '').toLowerCase();
  // As in Go's library: never for this host itself.
  if (host === 'localhost' || host === '::1' || /^127\./.test(host)) return true;
  const port = server.port === '' ? (server.protocol === 'https:' ? '443' : '80') : server.port;
  return list
    .split(',')
    .map((item) => item.trim().toLowerCase())
    .some((item) => matches(item, host, port));
}

function matches(item: string, host: string, port: string): boolean {
  if (item === '') return false;
  if (item === '*') return true;
  if (item.includes('/')) return isIP(host) !== 0 && ipInCidr(host, item);
  const [, name = '', itemPort] = /^(\[[^\]]*\]|[^:]*|.*:.*:.*?)(?::([0-9]+))?$/.exec(item) ?? [];
  if (itemPort !== undefined && itemPort !== port) return false;
  const wanted = name.replace(/^\[|\]$/g, '').replace(/^\*(?=\.)/, '');
  if (isIP(host) !== 0) return host === wanted;
  return wanted.startsWith('.') ? host.endsWith(wanted) : host === wanted || host.endsWith(`.${wanted}`);
}

function ipInCidr(ip: string, cidr: string): boolean {
  const [network = '', bits = ''] = cidr.split('/');
  const family = isIP(network);
  if (family === 0 || family !== isIP(ip) || !/^[0-9]{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128)) return false;
  const kind = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(bits), kind);
  return list.check(ip, kind);
}

/** A connection to `host:port` through the proxy, once it is made. */
export function openTunnel(proxy: URL, host: string, port: number, timeoutMillis: number): Promise<Socket> {
  const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const credentials = proxy.username === '' ? null : `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const headers = { Host: target, ...(credentials === null ? {} : { 'Proxy-Authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }) };
  const send = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const options = { host: proxy.hostname.replace(/^\[|\]$/g, ''), method: 'CONNECT', path: target, headers, agent: false, timeout: timeoutMillis };
    const request = send(proxy.port === '' ? options : { ...options, port: proxy.port });
    request.once('connect', (response, socket, head) => {
      if (response.statusCode !== 200 || head.length > 0) {
        socket.destroy();
        reject(new Error(`proxyconnect tcp: ${proxy.host}: ${response.statusCode} ${response.statusMessage ?? ''}`.trim()));
      } else {
        socket.setTimeout(0);
        resolve(socket);
      }
    });
    request.once('timeout', () => request.destroy(new Error('i/o timeout')));
    request.once('error', (error) => reject(new Error(`proxyconnect tcp: ${proxy.host}: ${error.message}`, { cause: error })));
    request.end();
  });
}
